#pragma once

/// The seam between a transfer and its reliability policy, on the sender's side.
///
/// A policy speaks of packets of the transfer, 64-bit, and pulls nothing: the transfer asks it for
/// the next run whenever the wire has room, so that the time of sending is the true one.

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/time.h"
#include "core/reliability/policy_spec.h"
#include "core/reliability/round_trip.h"
#include "core/wire/control.h"
#include "core/wire/immediate.h"

namespace longhaul {

/// Consecutive packets of a transfer, of its data or of its parity.
struct PacketRun {
  MessageRole role = MessageRole::data;
  uint64_t first = 0;
  uint64_t count = 0;
  bool repair = false;
};

/// How a transfer's packets are dealt to channels. Packets of one channel keep their order, those
/// of two need not.
struct ChannelMap {
  uint32_t chunk_packets = 1;
  uint8_t channels = 1;
  uint64_t first = 0;  ///< a transfer's first chunk goes to channel first mod channels

  /// Chunks are dealt in turn, starting elsewhere for each message, so that small messages use all
  /// channels. `packet`: of the transfer.
  uint8_t channel_of(uint64_t packet) const {
    if (channels == 1) return 0;
    return static_cast<uint8_t>((packet % kMaxMessagePackets / chunk_packets + first) % channels);
  }
};

/// What the transfer may send at this moment.
struct SendWindow {
  uint64_t data_end = 0;    ///< data packets below it are armed at the receiver
  uint64_t parity_end = 0;  ///< the same for parity packets
  uint64_t max_count = 0;   ///< longest run wanted, >= 1
};

class SenderPolicy {
 public:
  virtual ~SenderPolicy() = default;

  /// The run to send next, or nothing. The transfer sends all of it, and says so by `on_sent`.
  virtual std::optional<PacketRun> next(const SendWindow& window) = 0;
  /// The run leaves from `start` on, its packets `spacing` apart.
  virtual void on_sent(const PacketRun& run, Instant start, Duration spacing) = 0;
  virtual void on_feedback(const Feedback& feedback, Instant now) = 0;
  /// When the packet that `feedback` echoes had left, if that is news and beyond doubt (it was sent
  /// once); Instant::never() otherwise. To be asked before `on_feedback`.
  virtual Instant echoed_departure(const Feedback& feedback) const = 0;
  /// Harmless when early.
  virtual void on_timer(Instant now) = 0;
  /// Without side effect; Instant::never() when nothing is waited for.
  virtual Instant next_deadline() const = 0;
};

/// `round_trip` is the connection's and outlives the policy. `parity_packets` is 0 without a code.
std::unique_ptr<SenderPolicy> make_sender_policy(const PolicySpec& spec, uint64_t data_packets,
                                                 uint64_t parity_packets,
                                                 const RoundTrip& round_trip,
                                                 const ChannelMap& channels);

}  // namespace longhaul
