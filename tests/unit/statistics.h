#pragma once

/// Tests of goodness of fit. Seeds are fixed, so that a test either always passes or always fails;
/// the limits are those that a correct sampler meets with probability 0.9999 at a fresh seed.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace longhaul::testing {

/// Standard deviations beyond which a normal variate lies with probability 1e-4, on one side.
inline constexpr double kNormalLimit = 3.719;

/// Pearson's statistic. `observed` and `expected` are counts per class.
inline double chi_square(const std::vector<uint64_t>& observed,
                         const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < observed.size(); ++i) {
    const double difference = static_cast<double>(observed[i]) - expected[i];
    sum += difference * difference / expected[i];
  }
  return sum;
}

/// The 0.9999 quantile of chi-square (Wilson and Hilferty's approximation).
inline double chi_square_limit(size_t classes) {
  const auto freedom = static_cast<double>(classes - 1);
  const double spread = 2 / (9 * freedom);
  return freedom * std::pow(1 - spread + kNormalLimit * std::sqrt(spread), 3);
}

/// How many standard deviations `count` successes in `trials` lie from their expectation.
inline double binomial_deviation(uint64_t count, uint64_t trials, double probability) {
  const double mean = static_cast<double>(trials) * probability;
  return (static_cast<double>(count) - mean) / std::sqrt(mean * (1 - probability));
}

}  // namespace longhaul::testing
