#pragma once

/// Decides whether the results are what the scenario expects.

#include "tools/longhaul/summary.h"

namespace longhaul {

/// Takes the worst value over the points and policies that the expectation covers. Needs
/// `summary.series`. Percentiles are by nearest rank, so p99.9 of fewer than 1,000 samples is their
/// maximum, and the text says so. What was not measured does not pass.
ExpectationResult evaluate(const Expectation& expectation, const Results& results,
                           const Summary& summary);

}  // namespace longhaul
