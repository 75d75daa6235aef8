#pragma once

/// The sender's model of its own wire: when what it hands to the backend will leave, and how much
/// it may hand over ahead of that.

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/backend.h"
#include "core/wire/immediate.h"

namespace longhaul {

class WireClock {
 public:
  /// How many packets had been handed over on each channel.
  using Mark = std::array<uint64_t, kMaxChannels>;

  /// At most `ahead` worth of full packets is with the backend at a time: a repair must not queue
  /// behind a deep send queue.
  WireClock(const Capabilities& capabilities, Duration ahead)
      : capabilities_(capabilities),
        packet_time_(
            wire_time(capabilities.mtu_bytes + capabilities.header_bytes, capabilities.rate_bps)),
        limit_(static_cast<uint64_t>(std::max<int64_t>(ahead / packet_time_, kLeastAhead))) {}

  /// Packets that may be handed over now.
  uint64_t room() const { return limit_ - std::min(limit_, outstanding_); }
  /// Completions after which handing over more is worth a turn.
  uint64_t refill_after() const {
    return outstanding_ > limit_ / 2 ? outstanding_ - limit_ / 2 : 1;
  }
  Duration packet_time() const { return packet_time_; }
  /// When everything handed over so far will have left.
  Instant free_at() const { return free_at_; }

  /// `count` packets, the last of `last_bytes`, are handed over; returns when the first one leaves.
  Instant send_data(Instant now, uint64_t count, uint32_t last_bytes) {
    const Instant start = std::max(now, free_at_);
    free_at_ = start + packet_time_ * static_cast<int64_t>(count - 1) +
               wire_time(last_bytes + capabilities_.header_bytes, capabilities_.rate_bps);
    outstanding_ += count;
    return start;
  }
  void send_control(Instant now, uint64_t bytes) {
    free_at_ = std::max(now, free_at_) +
               wire_time(bytes + capabilities_.header_bytes, capabilities_.rate_bps);
  }

  /// Which channel packets of `send_data` went to, for `drained`.
  void handed_over(uint8_t channel, uint64_t packets) { handed_over_[channel] += packets; }
  void completed(uint8_t channel, uint64_t packets) {
    outstanding_ -= std::min(packets, outstanding_);
    completed_[channel % kMaxChannels] += packets;
  }
  const Mark& mark() const { return handed_over_; }
  /// Whether all that was handed over before `mark` was taken has left.
  bool drained(const Mark& mark) const {
    return std::ranges::equal(mark, completed_, [](uint64_t m, uint64_t c) { return m <= c; });
  }

 private:
  static constexpr int64_t kLeastAhead = 4;

  const Capabilities& capabilities_;
  Duration packet_time_;
  uint64_t limit_;
  uint64_t outstanding_ = 0;
  Instant free_at_{};
  Mark handed_over_{};
  Mark completed_{};
};

}  // namespace longhaul
