#pragma once

/// Runs every sample of a scenario on as many threads as asked.

#include <atomic>
#include <cstdint>
#include <functional>

#include "tools/longhaul/results.h"

namespace longhaul {

/// `sim::simulate_message`, or what a test puts in its place. Called from several threads at once.
using SimulateFunction = std::function<sim::MessageSample(
    const sim::PathSpec&, const sim::MessageSpec&, uint64_t seed, uint64_t message_index)>;

/// Called about ten times a second from the thread that called `run_scenario`.
using ProgressFunction = std::function<void(uint64_t finished, uint64_t wanted, double seconds)>;

struct RunOptions {
  unsigned jobs = 1;  ///< threads, at least 1
  /// Set by anyone at any time: no sample is begun after it, those under way are finished.
  const std::atomic<bool>* stop = nullptr;
  ProgressFunction progress;
};

/// Fills everything of Results but `commit` and `command`. The samples, their order and their
/// values do not depend on `jobs`. Points are worked off one after the other, and within a point
/// all policies meet a message before the next one, so that after a stop the finished samples
/// compare. An exception of `simulate` ends the run and is passed on.
Results run_scenario(const Scenario& scenario, const RunOptions& options,
                     const SimulateFunction& simulate);

/// The simulator's input for one policy at one point.
sim::MessageSpec message_spec(const Point& point, const PolicySpec& policy);

}  // namespace longhaul
