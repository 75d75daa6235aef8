#include "core/base/logarithm.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/base/rng.h"
#include "tests/catch.h"

namespace longhaul {
namespace {

constexpr double kTolerance = 1e-15;

// long double carries 11 more bits on x86; elsewhere it is no worse than double.
double error_of_log(double x) {
  const long double truth = std::log(static_cast<long double>(x));
  if (truth == 0) return std::abs(natural_log(x));
  return static_cast<double>(std::abs((static_cast<long double>(natural_log(x)) - truth) / truth));
}

double error_of_log1p(double x) {
  const long double truth = std::log1p(static_cast<long double>(x));
  if (truth == 0) return std::abs(natural_log1p(x));
  return static_cast<double>(
      std::abs((static_cast<long double>(natural_log1p(x)) - truth) / truth));
}

TEST_CASE("natural_log is accurate over every finite positive number") {
  Rng rng(1);
  double worst = 0;
  for (int i = 0; i < 500'000; ++i) {
    // Uniform over bit patterns: every exponent, subnormals among them.
    const auto x = std::bit_cast<double>(rng.between(1, 0x7fefffffffffffff));
    worst = std::max(worst, error_of_log(x));
  }
  CHECK(worst < kTolerance);
}

TEST_CASE("natural_log is accurate over the unit interval and near 1") {
  Rng rng(2);
  double worst = 0;
  for (int i = 0; i < 500'000; ++i) {
    worst = std::max(worst, error_of_log(rng.open_unit()));
    const double distance = std::ldexp(rng.open_unit(), -static_cast<int>(rng.below(53)));
    worst = std::max(worst, error_of_log(1 + distance));
    if (distance < 1) worst = std::max(worst, error_of_log(1 - distance));
  }
  CHECK(worst < kTolerance);
}

TEST_CASE("natural_log1p is accurate from -1 up, however small the argument") {
  Rng rng(3);
  double worst = 0;
  for (int i = 0; i < 500'000; ++i) {
    const double small = std::ldexp(rng.open_unit(), -static_cast<int>(rng.below(1000)));
    worst = std::max(worst, error_of_log1p(-small));
    worst = std::max(worst, error_of_log1p(small));
    worst = std::max(worst, error_of_log1p(std::ldexp(rng.open_unit(), 40)));
  }
  CHECK(worst < kTolerance);
}

TEST_CASE("Logarithms at the ends of their range") {
  CHECK(natural_log(1) == 0);
  CHECK(natural_log1p(0) == 0);
  CHECK(error_of_log(std::numeric_limits<double>::denorm_min()) < kTolerance);
  CHECK(error_of_log(std::numeric_limits<double>::min()) < kTolerance);
  CHECK(error_of_log(std::numeric_limits<double>::max()) < kTolerance);
  CHECK(error_of_log(std::nextafter(1.0, 0.0)) < kTolerance);
  CHECK(error_of_log(std::nextafter(1.0, 2.0)) < kTolerance);
  CHECK(error_of_log(std::nextafter(std::sqrt(2.0), 0.0)) < kTolerance);
  CHECK(error_of_log(std::nextafter(std::sqrt(2.0), 2.0)) < kTolerance);
  CHECK(natural_log1p(-1e-300) == -1e-300);
  CHECK(natural_log1p(-std::numeric_limits<double>::denorm_min()) ==
        -std::numeric_limits<double>::denorm_min());
}

// Exact bit patterns: a compiler that fuses or reorders arithmetic would change them. Computed at
// compile time as well, where no CPU is involved.
TEST_CASE("Logarithms have the same bits at compile time and at run time") {
  constexpr double kArguments[] = {0.1, 0.7, 0.9999, 1.3, 2.0, 10.0, 1e-12, 1e300};
  constexpr double kLogs[] = {natural_log(0.1),   natural_log(0.7),  natural_log(0.9999),
                              natural_log(1.3),   natural_log(2.0),  natural_log(10.0),
                              natural_log(1e-12), natural_log(1e300)};
  for (size_t i = 0; i < std::size(kArguments); ++i) {
    volatile double argument = kArguments[i];
    CHECK(std::bit_cast<uint64_t>(natural_log(argument)) == std::bit_cast<uint64_t>(kLogs[i]));
  }
  CHECK(std::bit_cast<uint64_t>(natural_log(2.0)) == 0x3fe62e42fefa39ef);
  CHECK(std::bit_cast<uint64_t>(natural_log(10.0)) == 0x40026bb1bbb55516);
}

}  // namespace
}  // namespace longhaul
