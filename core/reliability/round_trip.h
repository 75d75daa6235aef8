#pragma once

/// Round-trip time of a connection, and the timers that follow from it.

#include <algorithm>

#include "core/base/time.h"

namespace longhaul {

/// Smoothed as in RFC 6298 (gains 1/8 and 1/4), in integers. Only unambiguous samples may be given:
/// of packets that were sent once (Karn's algorithm).
class RoundTrip {
 public:
  /// `expected`: what set-up measured or the path promises. `reordering`: how much later than its
  /// successors a packet may come without being lost.
  explicit RoundTrip(Duration expected, Duration reordering = {})
      : smoothed_(expected), reordering_(reordering) {}

  void sample(Duration rtt) {
    const Duration error = rtt - smoothed_;
    smoothed_ += error / 8;
    variation_ += (std::max(error, -error) - variation_) / 4;
  }

  Duration smoothed() const { return smoothed_; }
  Duration variation() const { return variation_; }

  /// So many thousandths of a round trip.
  Duration multiple(uint32_t millirtt) const {
    return {static_cast<int64_t>(static_cast<__int128>(smoothed_.ps) * millirtt / 1000)};
  }

  /// How often the receiver sends FEEDBACK.
  Duration feedback_period() const { return std::max(smoothed_ / 64, Duration::microseconds(20)); }
  /// An arrival waits for the next FEEDBACK: whatever arrived is acknowledged within this time.
  Duration acknowledged_within() const {
    return smoothed_ + std::max(variation_ * 4, feedback_period() * 2) + reordering_;
  }
  /// A packet that left this long ago and is reported missing was lost, not late.
  Duration overdue() const {
    return smoothed_ + std::max(variation_ * 4, feedback_period()) + reordering_;
  }

 private:
  Duration smoothed_;
  Duration reordering_;
  Duration variation_{};
};

}  // namespace longhaul
