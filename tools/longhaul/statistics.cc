#include "tools/longhaul/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/base/check.h"

namespace longhaul {

namespace {

constexpr double kTail = 0.025;  // on either side of a 95 % interval

}  // namespace

uint64_t nearest_rank(uint64_t count, Quantile quantile) {
  LONGHAUL_CHECK(count > 0 && quantile.denominator > 0);
  LONGHAUL_CHECK(quantile.numerator <= quantile.denominator);
  const auto scaled = static_cast<unsigned __int128>(count) * quantile.numerator;
  const auto rank =
      static_cast<uint64_t>((scaled + quantile.denominator - 1) / quantile.denominator);
  return std::max<uint64_t>(rank, 1);
}

uint64_t binomial_quantile(uint64_t count, double success, double probability) {
  const auto n = static_cast<double>(count);
  const double mean = n * success;
  const double deviation = std::sqrt(mean * (1 - success));
  // Ten standard deviations below the mean lies less than 1e-22 (Hoeffding).
  const double first = std::max(0.0, std::floor(mean - 10 * deviation - 10));
  double sum = 0;
  for (auto k = static_cast<uint64_t>(first); k < count; ++k) {
    const auto x = static_cast<double>(k);
    const double log_term = std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) +
                            x * std::log(success) + (n - x) * std::log1p(-success);
    sum += std::exp(log_term);
    if (sum >= probability) return k;
  }
  return count;
}

RankInterval quantile_ranks(uint64_t count, Quantile quantile) {
  // The number B of samples below the quantile is binomial. The l-th smallest lies above it when
  // B < l, the u-th below it when B >= u.
  const double share = quantile.value();
  RankInterval ranks;
  // P(B <= l - 1) <= 2.5 % for the largest such l, which is the smallest k with P(B <= k) > 2.5 %.
  ranks.lower = binomial_quantile(count, share, kTail);
  // P(B <= u - 1) >= 97.5 % for the smallest such u.
  const uint64_t upper = binomial_quantile(count, share, 1 - kTail) + 1;
  ranks.upper = upper <= count ? upper : 0;
  return ranks;
}

Estimate quantile_estimate(std::span<const double> sorted, Quantile quantile) {
  Estimate estimate;
  if (sorted.empty()) return estimate;
  estimate.value = sorted[nearest_rank(sorted.size(), quantile) - 1];
  const RankInterval ranks = quantile_ranks(sorted.size(), quantile);
  if (ranks.lower > 0) estimate.lower = sorted[ranks.lower - 1];
  if (ranks.upper > 0) estimate.upper = sorted[ranks.upper - 1];
  return estimate;
}

double student_t_975(uint64_t degrees_of_freedom) {
  LONGHAUL_CHECK(degrees_of_freedom > 0);
  constexpr std::array<double, 8> kSmall = {12.7062, 4.3027, 3.1824, 2.7764,
                                            2.5706,  2.4469, 2.3646, 2.3060};
  if (degrees_of_freedom <= kSmall.size()) return kSmall[degrees_of_freedom - 1];
  // Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.5.
  const double z = 1.959963984540054;
  const auto nu = static_cast<double>(degrees_of_freedom);
  const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, z9 = z7 * z * z;
  return z + (z3 + z) / (4 * nu) + (5 * z5 + 16 * z3 + 3 * z) / (96 * nu * nu) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * nu * nu * nu) +
         (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * nu * nu * nu * nu);
}

Estimate mean_estimate(std::span<const double> samples) {
  Estimate estimate;
  if (samples.empty()) return estimate;
  const auto n = static_cast<double>(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  estimate.value = mean;
  if (samples.size() < 2) return estimate;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  const double error = std::sqrt(squares / (n - 1) / n) * student_t_975(samples.size() - 1);
  estimate.lower = mean - error;
  estimate.upper = mean + error;
  return estimate;
}

Distribution describe(std::span<double> samples) {
  std::sort(samples.begin(), samples.end());
  Distribution result;
  result.count = samples.size();
  result.mean = mean_estimate(samples);
  result.p50 = quantile_estimate(samples, kP50);
  result.p99 = quantile_estimate(samples, kP99);
  result.p999 = quantile_estimate(samples, kP999);
  if (!samples.empty()) result.max.value = samples.back();
  return result;
}

}  // namespace longhaul
