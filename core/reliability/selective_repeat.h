#pragma once

/// Selective repeat: send everything once, then only what is missing, before anything new.
///
/// Two ways to notice a loss (SDR-RDMA paper, section 4):
/// - rto: a packet is sent again when it has not been acknowledged for a fixed multiple of the RTT;
/// - nack: when FEEDBACK says that it is missing although something sent later on the same channel
///   has arrived (as RACK, RFC 8985), or although it left longer than a round trip ago (the tail,
///   after which nothing comes).

#include <deque>
#include <map>
#include <vector>

#include "core/reliability/sender_policy.h"
#include "core/reliability/transmission_log.h"
#include "core/sdr/packet_bitmap.h"

namespace longhaul {

class SelectiveRepeatSender : public SenderPolicy {
 public:
  SelectiveRepeatSender(const PolicySpec& spec, uint64_t packets, const RoundTrip& round_trip,
                        const ChannelMap& channels);

  std::optional<PacketRun> next(const SendWindow& window) override;
  void on_sent(const PacketRun& run, Instant start, Duration spacing) override;
  void on_feedback(const Feedback& feedback, Instant now) override;
  Instant echoed_departure(const Feedback& feedback) const override;
  void on_timer(Instant now) override;
  Instant next_deadline() const override;

  bool all_sent_once() const { return next_new_ == packets_; }

 private:
  struct Repair {
    bool queued = true;
    Instant departure = Instant::never();
  };

  void acknowledge(const Feedback& feedback);
  Instant first_departure(uint64_t packet) const;
  void acknowledge(uint64_t begin, uint64_t end);
  void detect_by_nack(const Feedback& feedback, Instant now);
  /// Per channel: transmissions that left by this time and are reported missing are lost.
  void judge(const Feedback& feedback, Instant now);
  void queue_repair(uint64_t packet);
  std::optional<PacketRun> next_repair(const SendWindow& window);
  Duration rto() const;

  PolicySpec spec_;
  uint64_t packets_;
  const RoundTrip& round_trip_;
  ChannelMap channels_;
  struct Judgement {
    Instant time;
    uint64_t first_end;  ///< first transmissions of packets below it had left by then
  };
  std::vector<Judgement> judged_;  ///< of the FEEDBACK at hand, by channel
  uint64_t next_new_ = 0;
  TransmissionLog log_;
  PacketBitmap acknowledged_;
  uint64_t cumulative_ = 0;
  std::map<uint64_t, Repair> repairs_;  ///< packets sent again, or about to be, not acknowledged
  std::deque<uint64_t> repair_queue_;   ///< may name packets acknowledged since: skipped then
  uint64_t timed_out_ = 0;              ///< rto: first transmissions below it have been judged
  std::deque<std::pair<Instant, uint64_t>>
      repair_timers_;  ///< rto: departures of repairs, in order
};

}  // namespace longhaul
