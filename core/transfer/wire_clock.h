#pragma once

/// The sender's model of its own wire: when what it hands to the backend will leave, and how much
/// it may hand over ahead of that.

#include <algorithm>
#include <cstdint>

#include "core/backend.h"

namespace longhaul {

class WireClock {
 public:
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
  void completed(uint64_t packets) { outstanding_ -= std::min(packets, outstanding_); }

 private:
  static constexpr int64_t kLeastAhead = 4;

  const Capabilities& capabilities_;
  Duration packet_time_;
  uint64_t limit_;
  uint64_t outstanding_ = 0;
  Instant free_at_{};
};

}  // namespace longhaul
