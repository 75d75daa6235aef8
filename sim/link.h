#pragma once

/// One direction of a long-haul link: a NIC that injects, a queue, the wire, its losses, its delay.
///
/// Times are computed when packets are handed over, in closed form for a whole run at a time: cost
/// is per run and per loss, not per packet.

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "core/backend.h"
#include "core/path/loss.h"

namespace longhaul::sim {

struct LinkSpec {
  uint64_t rate_bps = 0;
  uint64_t nic_rate_bps = 0;
  Duration propagation{};
  uint64_t queue_bytes = 0;
  uint32_t header_bytes = 0;
  uint32_t mtu_bytes = 0;
  LossSpec loss;
};

struct LinkCounters {
  uint64_t wire_bytes = 0;  ///< put on the wire, headers included, lost ones too
  uint64_t lost_packets = 0;
  uint64_t lost_control_packets = 0;
  uint64_t queue_drops = 0;
};

/// Packets of a run that survived: the i-th arrives at first_arrival + i * spacing.
struct InFlightRun {
  WriteRun run;
  Instant first_arrival{};
  Duration spacing{};
  Duration last_early{};  ///< the last packet, being short, arrives so much before its place

  Instant arrival(uint32_t index) const {
    const Instant regular = first_arrival + spacing * index;
    return index + 1 == run.packet_count ? regular - last_early : regular;
  }
};

struct InFlightControl {
  std::vector<std::byte> bytes;
  Instant arrival{};
};

class Link {
 public:
  /// `rng`: forked for this link and direction.
  Link(const LinkSpec& spec, Rng rng);

  void send_data(Instant now, const WriteRun& run);
  void send_control(Instant now, std::span<const std::byte> bytes);

  /// Packets of earlier runs that have left the NIC by `now`, since the last call.
  uint64_t take_completions(Instant now);
  /// When the `count`-th packet from now on will have left; never when so many are not under way.
  Instant completion_time(uint64_t count) const;
  /// When the `count`-th data packet from now on arrives; never when later than `limit` or unknown.
  Instant arrival_time(uint64_t count, Instant limit) const;
  Instant next_control_arrival() const;

  /// Takes what has arrived by `now`, in order. A run may be handed out in parts.
  bool take_arrival(Instant now, InFlightRun& arrived);
  bool take_control(Instant now, InFlightControl& arrived);

  const LinkCounters& counters() const { return counters_; }

 private:
  struct Departure {
    uint64_t packets;
    Instant first;  ///< when the first packet has left
    Duration spacing;
    Instant last;  ///< when the last has, being maybe short
  };

  void send_uncongested(const WriteRun& run, Instant start);
  void send_queued(const WriteRun& run, Instant start);
  void deliver(const WriteRun& run, uint32_t first, uint32_t count, Instant begin);
  bool queue_accepts(Instant start, uint64_t bytes);
  Duration time_on_wire(uint64_t payload_bytes) const;
  int64_t slot_of(Instant start) const { return start.ps / packet_time_.ps; }

  LinkSpec spec_;
  uint64_t wire_rate_bps_;  ///< the slower of link and NIC
  Duration packet_time_;
  Duration nic_packet_time_;
  std::unique_ptr<LossProcess> loss_;
  std::unique_ptr<LossProcess> control_loss_;  ///< scripted only
  uint64_t data_sent_ = 0;
  uint64_t control_sent_ = 0;
  Instant nic_free_{};
  Instant wire_free_{};
  std::deque<Departure> departures_;
  std::deque<InFlightRun> runs_;
  std::deque<InFlightControl> controls_;
  LinkCounters counters_;
};

}  // namespace longhaul::sim
