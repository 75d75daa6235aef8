#pragma once

/// Natural logarithm from + - * / alone: the same bits on every CPU and compiler, which libm's,
/// whose last bit differs between versions, is not. For samplers.

#include <bit>
#include <cstdint>

#include "core/base/check.h"

namespace longhaul {

/// ln(1 + x) for finite x > -1, without the rounding of 1 + x where that would cost: rates of 1e-12
/// keep full precision. Relative error below 1e-15.
constexpr double natural_log1p(double x);

/// ln(x) for finite x > 0, subnormals included. Relative error below 1e-15.
constexpr double natural_log(double x);

namespace logarithm_detail {

inline constexpr double kLn2High = 0x1.62e42fefap-1;      ///< 36 bits: exact times any exponent
inline constexpr double kLn2Low = 0x1.cf79abc9e3b39p-40;  ///< ln 2 less kLn2High

/// ln(1 + f) - f, for 1 + f within [1/sqrt 2, sqrt 2]. With s = f / (2 + f), ln(1 + f) is
/// 2 atanh(s) = 2 (s + s^3/3 + s^5/5 + ...), |s| <= 0.172; the terms end where they fall below
/// 2^-60 of the sum.
constexpr double tail_of_log1p(double f) {
  const double s = f / (2 + f);
  const double z = s * s;
  double series = 0;
  for (int n = 21; n >= 3; n -= 2) series = z * (1.0 / n + series);
  // 2s = f - f s, so that the leading term f stays free of rounding.
  return s * (2 * series - f);
}

}  // namespace logarithm_detail

constexpr double natural_log(double x) {
  LONGHAUL_CHECK(x > 0 && x <= 0x1.fffffffffffffp1023);
  int exponent = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    exponent = -54;
  }
  constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;
  constexpr uint64_t kOne = uint64_t{1023} << 52;
  const auto bits = std::bit_cast<uint64_t>(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  auto mantissa = std::bit_cast<double>((bits & kMantissa) | kOne);
  if (mantissa > 0x1.6a09e667f3bcdp0) {  // sqrt 2
    mantissa *= 0.5;
    ++exponent;
  }
  const double f = mantissa - 1;
  const double tail = logarithm_detail::tail_of_log1p(f) + exponent * logarithm_detail::kLn2Low;
  return exponent * logarithm_detail::kLn2High + (f + tail);
}

constexpr double natural_log1p(double x) {
  if (x > -0.29 && x < 0.41) return x + logarithm_detail::tail_of_log1p(x);
  return natural_log(1 + x);
}

}  // namespace longhaul
