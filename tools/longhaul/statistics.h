#pragma once

/// Percentiles and means with their 95 % confidence intervals. Reporting only: results are doubles.

#include <cstdint>
#include <optional>
#include <span>

namespace longhaul {

/// A quantile as an exact fraction, so that its rank has no rounding: p99.9 is {999, 1000}.
struct Quantile {
  uint32_t numerator = 1;
  uint32_t denominator = 2;

  constexpr double value() const { return static_cast<double>(numerator) / denominator; }
};
inline constexpr Quantile kP50{1, 2};
inline constexpr Quantile kP99{99, 100};
inline constexpr Quantile kP999{999, 1000};

/// Below so many samples p99 (p99.9) is the maximum or next to it, and is not shown under that
/// name.
inline constexpr uint64_t kSamplesForP99 = 100;
inline constexpr uint64_t kSamplesForP999 = 1000;

/// A number and its 95 % confidence interval. Without samples there is no value; a bound that the
/// samples cannot give (say, the upper one of p99.9 of 1,000) is absent, never guessed.
struct Estimate {
  std::optional<double> value;
  std::optional<double> lower;
  std::optional<double> upper;
};

/// Nearest rank: the smallest rank, counted from 1, with at least the quantile's share of the
/// `count` samples at or below it. Needs count >= 1.
uint64_t nearest_rank(uint64_t count, Quantile quantile);

/// Ranks, counted from 1, of the order statistics that enclose a quantile of the population with
/// 95 % confidence whatever the distribution (David and Nagaraja, "Order Statistics", 3rd edition,
/// section 7.1): by the binomial distribution, at most 2.5 % on either side. 0: no such rank.
struct RankInterval {
  uint64_t lower = 0;
  uint64_t upper = 0;
};
RankInterval quantile_ranks(uint64_t count, Quantile quantile);

/// The smallest k with P(B <= k) >= `probability`, B ~ Binomial(count, success); the sum of exact
/// terms. `success` and `probability` in (0, 1).
uint64_t binomial_quantile(uint64_t count, double success, double probability);

/// `sorted` ascending; may be empty.
Estimate quantile_estimate(std::span<const double> sorted, Quantile quantile);

/// Mean, and Student's interval on it; from one sample there is no interval.
Estimate mean_estimate(std::span<const double> samples);

/// The 97.5 % point of Student's t.
double student_t_975(uint64_t degrees_of_freedom);

/// All that the outputs show of one quantity.
struct Distribution {
  uint64_t count = 0;
  Estimate mean;
  Estimate p50;
  Estimate p99;
  Estimate p999;
  Estimate max;  ///< of the samples: it has no interval
};

/// Sorts `samples`.
Distribution describe(std::span<double> samples);

}  // namespace longhaul
