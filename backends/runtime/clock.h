#pragma once

/// Where the runtime's `now` comes from.

#include <atomic>
#include <chrono>

#include "core/base/time.h"

namespace longhaul {

/// Any thread may ask. Never goes back.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
};

/// std::chrono::steady_clock, counted from the first use in this process, so that picoseconds last
/// for 106 days.
class SteadyClock final : public Clock {
 public:
  Instant now() const override {
    return {std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                                 origin())
                .count() *
            1'000};
  }
  /// When the steady clock will show `instant`; the far future for Instant::never().
  static std::chrono::steady_clock::time_point at(Instant instant) {
    return origin() + std::chrono::nanoseconds(instant.ps / 1'000 + 1);
  }
  /// The one that is used unless another is named.
  static const SteadyClock& instance() {
    static const SteadyClock clock;
    return clock;
  }

 private:
  static std::chrono::steady_clock::time_point origin() {
    static const auto start = std::chrono::steady_clock::now();
    return start;
  }
};

/// Stands still until it is moved: for tests, and without threads, which could not wait by it.
class ManualClock final : public Clock {
 public:
  Instant now() const override { return {now_ps_.load(std::memory_order_acquire)}; }
  void advance(Duration by) { now_ps_.fetch_add(by.ps, std::memory_order_acq_rel); }

 private:
  std::atomic<int64_t> now_ps_ = 0;
};

}  // namespace longhaul
