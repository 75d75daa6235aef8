#pragma once

/// What a run will take, before it is started.

#include <cstdint>
#include <string>

#include "tools/longhaul/runner.h"

namespace longhaul {

struct Forecast {
  uint64_t points = 0;
  uint64_t policies = 0;
  uint64_t samples = 0;  ///< over all points and policies
  uint64_t packets = 0;  ///< first transmissions of data, over all samples
  double seconds = 0;
  uint64_t memory_bytes = 0;
  std::string basis;  ///< what the time was estimated from
};

/// Runs single messages of the smallest point of each kind of payload for about a second, and
/// scales by packets. An estimate: loss and repair differ between points.
Forecast forecast(const Scenario& scenario, unsigned jobs, const SimulateFunction& simulate);

/// Memory that one sample of the largest message holds while it runs.
uint64_t bytes_per_job(const Scenario& scenario);

/// `wanted` threads, or fewer where they would need more memory than `available_bytes`; at least 1.
unsigned jobs_that_fit(const Scenario& scenario, unsigned wanted, uint64_t available_bytes);

}  // namespace longhaul
