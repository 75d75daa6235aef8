#pragma once

/// One direction of a long-haul link: a NIC that injects, a queue, the wire, its losses, its delay.
///
/// Times are computed when packets are handed over, in closed form for a whole run at a time: cost
/// is per run and per loss, not per packet.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/backend.h"
#include "core/path/loss.h"

namespace longhaul::sim {

/// Packets that do not keep their place: late, or there twice. Decided for each data packet by its
/// number in order of sending, from 0.
struct DisorderSpec {
  double late_rate = 0;       ///< share of packets that are late
  double duplicate_rate = 0;  ///< share of packets that arrive a second time
  Duration late_up_to{};      ///< both come by up to this later than in their turn
  /// These data packets, by number, are late by exactly so much.
  std::map<uint64_t, Duration> late_packets;

  bool operator==(const DisorderSpec&) const = default;
};

struct LinkSpec {
  uint64_t rate_bps = 0;
  uint64_t nic_rate_bps = 0;
  Duration propagation{};
  uint64_t queue_bytes = 0;
  uint32_t header_bytes = 0;
  uint32_t mtu_bytes = 0;
  LossSpec loss;
  DisorderSpec disorder;
  /// Added to the propagation of a channel's packets, channel i mod size; empty: none. Channels
  /// take different ways through the network, and overtake each other.
  std::vector<Duration> channel_delays;
};

struct LinkCounters {
  uint64_t wire_bytes = 0;  ///< put on the wire, headers included, lost ones too
  uint64_t lost_packets = 0;
  uint64_t lost_control_packets = 0;
  uint64_t queue_drops = 0;
  uint64_t late_packets = 0;        ///< made late by DisorderSpec
  uint64_t duplicated_packets = 0;  ///< made twice
};

/// Packets of a run that survived: the i-th arrives at first_arrival + i * spacing.
struct InFlightRun {
  WriteRun run;
  uint64_t key = 0;  ///< memory key of the peer that the packets carry
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

  void send_data(Instant now, const WriteRun& run, uint64_t key);
  void send_control(Instant now, std::span<const std::byte> bytes);

  /// Packets of earlier runs that have left the NIC by `now`, since the last call, by channel:
  /// added to `counts`.
  void take_completions(Instant now, std::span<uint32_t> counts);
  /// When the `count`-th packet from now on will have left; never when so many are not under way.
  Instant completion_time(uint64_t count) const;
  /// No later than the `count`-th data packet from now on arrives, and not before the next one
  /// does; exact where packets keep their order. Never when later than `limit` or unknown.
  Instant arrival_time(uint64_t count, Instant limit) const;
  Instant next_control_arrival() const;

  /// Takes what has arrived by `now`, in order. A run may be handed out in parts.
  bool take_arrival(Instant now, InFlightRun& arrived);
  bool take_control(Instant now, InFlightControl& arrived);

  const LinkCounters& counters() const { return counters_; }

 private:
  struct Departure {
    uint8_t channel;
    uint64_t packets;
    Instant first;  ///< when the first packet has left
    Duration spacing;
    Instant last;  ///< when the last has, being maybe short
  };

  using Flow = std::deque<InFlightRun>;

  void send_uncongested(const InFlightRun& flight, Instant start);
  void send_queued(const InFlightRun& flight, Instant start);
  void deliver(const InFlightRun& run, uint32_t first, uint32_t count, Instant begin);
  void deliver_in_order(const InFlightRun& flight);
  InFlightRun part(const InFlightRun& run, uint32_t first, uint32_t count, Instant begin) const;
  void deliver_late(InFlightRun flight, uint64_t number);
  bool take_from(Flow& flow, Instant now, InFlightRun& arrived);
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
  Rng disorder_rng_;
  std::unique_ptr<LossProcess> late_;
  std::unique_ptr<LossProcess> duplicates_;
  std::vector<Flow> flows_;                     ///< by channel
  std::multimap<Instant, InFlightRun> strays_;  ///< single packets out of turn, by arrival
  std::deque<InFlightControl> controls_;
  LinkCounters counters_;
};

}  // namespace longhaul::sim
