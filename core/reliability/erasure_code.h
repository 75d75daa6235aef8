#pragma once

/// Erasure coding as in the SDR-RDMA paper, section 4: all data, then all parity; when the receiver
/// gives up decoding (its fall-back timer), selective repeat of what is still missing.

#include <vector>

#include "core/coding/stripe_layout.h"
#include "core/reliability/selective_repeat.h"

namespace longhaul {

class ErasureCodeSender : public SenderPolicy {
 public:
  ErasureCodeSender(const PolicySpec& spec, uint64_t data_packets, uint64_t parity_packets,
                    const RoundTrip& round_trip, const ChannelMap& channels);

  std::optional<PacketRun> next(const SendWindow& window) override;
  void on_sent(const PacketRun& run, Instant start, Duration spacing) override;
  void on_feedback(const Feedback& feedback, Instant now) override;
  Instant echoed_departure(const Feedback& feedback) const override {
    return data_.echoed_departure(feedback);
  }
  void on_timer(Instant now) override;
  Instant next_deadline() const override;

 private:
  SelectiveRepeatSender data_;
  uint64_t parity_packets_;
  uint64_t next_parity_ = 0;
  bool falling_back_ = false;
};

/// The receiver's count of what each stripe still needs.
class StripeTracker {
 public:
  StripeTracker() = default;
  explicit StripeTracker(const StripeLayout& layout);

  /// Packets [first, first + count), new ones, have arrived; role does not matter to a stripe.
  void arrived(uint64_t first, uint64_t count);

  /// Packets that must still arrive at the least before every stripe can be decoded.
  uint64_t needed() const { return needed_; }
  bool decodable(uint64_t stripe) const { return deficit_[stripe] == 0; }

 private:
  std::vector<uint8_t> deficit_;
  uint64_t needed_ = 0;
};

}  // namespace longhaul
