#pragma once

/// When each packet was first sent. First transmissions go out in packet order, so that one entry a
/// run is enough, and both lookups are binary searches.

#include <algorithm>
#include <cstdint>
#include <deque>

#include "core/base/time.h"

namespace longhaul {

class TransmissionLog {
 public:
  /// Packets [first, first + count) leave one after the other from `start` on, `spacing` apart.
  /// `first` continues where the last call ended; `start` never goes back.
  void record(uint64_t first, uint64_t count, Instant start, Duration spacing) {
    runs_.push_back({first, count, start, spacing});
  }

  /// When the packet had left completely; Instant::never() if it is not in the log (any more).
  Instant departure(uint64_t packet) const {
    auto run = std::upper_bound(runs_.begin(), runs_.end(), packet,
                                [](uint64_t p, const Run& r) { return p < r.first; });
    if (run == runs_.begin()) return Instant::never();
    --run;
    if (packet >= run->first + run->count) return Instant::never();
    return run->departure(packet);
  }

  /// One past the last packet that had left completely by `time`; `base` when there is none.
  uint64_t departed_by(Instant time, uint64_t base) const {
    auto run = std::upper_bound(runs_.begin(), runs_.end(), time,
                                [](Instant t, const Run& r) { return t < r.departure(r.first); });
    if (run == runs_.begin()) return base;
    --run;
    const int64_t whole = (time - run->start) / run->spacing;
    return run->first + std::min(run->count, static_cast<uint64_t>(whole));
  }

  /// Forgets packets below `packet`.
  void forget_below(uint64_t packet) {
    while (!runs_.empty() && runs_.front().first + runs_.front().count <= packet) runs_.pop_front();
  }

 private:
  struct Run {
    uint64_t first;
    uint64_t count;
    Instant start;
    Duration spacing;
    Instant departure(uint64_t packet) const {
      return start + spacing * static_cast<int64_t>(packet - first + 1);
    }
  };
  std::deque<Run> runs_;
};

}  // namespace longhaul
