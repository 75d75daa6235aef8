#include "core/base/rng.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/catch.h"
#include "tests/unit/statistics.h"

namespace longhaul {
namespace {

using testing::chi_square;
using testing::chi_square_limit;

// Chi-square of `draws` values of below(bound), sorted into `classes` by remainder.
double remainder_fit(uint64_t bound, uint64_t classes, uint64_t draws) {
  Rng rng(17);
  std::vector<uint64_t> observed(classes);
  for (uint64_t i = 0; i < draws; ++i) ++observed[rng.below(bound) % classes];
  return chi_square(observed, std::vector<double>(classes, static_cast<double>(draws) /
                                                               static_cast<double>(classes)));
}

TEST_CASE("mix64 gives the published sequence of SplitMix64") {
  uint64_t state = 1234567;
  for (const uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                  4593380528125082431u, 16408922859458223821u}) {
    CHECK(mix64(state += kGoldenGamma) == expected);
  }
}

TEST_CASE("Rng gives the known values of xoshiro256++ seeded by SplitMix64") {
  const auto first_four = [](uint64_t seed) {
    Rng rng(seed);
    std::array<uint64_t, 4> values{};
    for (uint64_t& value : values) value = rng.next();
    return values;
  };
  CHECK(first_four(0) == std::array<uint64_t, 4>{0x53175d61490b23df, 0x61da6f3dc380d507,
                                                 0x5c0fdf91ec9a7bfc, 0x02eebf8c3bbe5e1a});
  CHECK(first_four(42) == std::array<uint64_t, 4>{0xd0764d4f4476689f, 0x519e4174576f3791,
                                                  0xfbe07cfb0c24ed8c, 0xb37d9f600cd835b8});
  CHECK(first_four(~uint64_t{0}) == std::array<uint64_t, 4>{0x56ccf8ce948e27b2, 0xe68588432e5a5b90,
                                                            0xe3e9b5a48119ca8b,
                                                            0x460f19495532ae73});
}

TEST_CASE("A fork depends on seed and label, and on nothing drawn") {
  const Rng fresh(42);
  Rng used(42);
  for (int i = 0; i < 1000; ++i) used.next();
  CHECK(used.fork(7).next() == fresh.fork(7).next());
  CHECK(fresh.fork(0).next() == 0xeac6ce13a2a07ede);
  CHECK(fresh.fork(1).next() == 0x764e8d653d7a5702);
  CHECK(fresh.fork(7).next() == 0x89b6fcbf3c351abe);
  // Neither a swap of seed and label nor nesting in the other order meets the same generator.
  CHECK(Rng(1).fork(2).seed() != Rng(2).fork(1).seed());
  CHECK(Rng(1).fork(2).fork(3).seed() != Rng(1).fork(3).fork(2).seed());
}

TEST_CASE("Forks of neighbouring seeds and labels are all different") {
  std::vector<uint64_t> firsts;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for (uint64_t label = 0; label < 200; ++label) firsts.push_back(Rng(seed).fork(label).next());
  }
  std::sort(firsts.begin(), firsts.end());
  CHECK(std::adjacent_find(firsts.begin(), firsts.end()) == firsts.end());
}

TEST_CASE("Forks are uncorrelated with each other and with their origin") {
  constexpr int kDraws = 100'000;
  std::vector<Rng> generators{Rng(5)};
  for (uint64_t label = 0; label < 4; ++label) generators.push_back(Rng(5).fork(label));
  for (size_t a = 0; a < generators.size(); ++a) {
    for (size_t b = a + 1; b < generators.size(); ++b) {
      Rng first = generators[a];
      Rng second = generators[b];
      double sum = 0;
      for (int i = 0; i < kDraws; ++i)
        sum += (first.open_unit() - 0.5) * (second.open_unit() - 0.5);
      CAPTURE(a, b);
      // Each product has variance 1/144.
      CHECK(std::abs(sum * 12 / std::sqrt(kDraws)) < testing::kNormalLimit);
    }
  }
}

TEST_CASE("below is uniform") {
  CHECK(remainder_fit(2, 2, 100'000) < chi_square_limit(2));
  CHECK(remainder_fit(6, 6, 100'000) < chi_square_limit(6));
  CHECK(remainder_fit(1000, 1000, 200'000) < chi_square_limit(1000));
  // Here a draw without rejection gives multiples of three twice as often as other numbers.
  CHECK(remainder_fit(uint64_t{3} << 62, 3, 100'000) < chi_square_limit(3));
}

TEST_CASE("below and between keep to their range, ends included") {
  Rng rng(3);
  std::array<bool, 5> seen{};
  for (int i = 0; i < 1000; ++i) {
    const uint64_t value = rng.between(10, 14);
    REQUIRE(value >= 10);
    REQUIRE(value <= 14);
    seen[value - 10] = true;
    REQUIRE(rng.below(1) == 0);
    REQUIRE(rng.between(9, 9) == 9);
    REQUIRE(rng.below(~uint64_t{0}) < ~uint64_t{0});
  }
  CHECK(std::all_of(seen.begin(), seen.end(), [](bool hit) { return hit; }));
}

TEST_CASE("open_unit is uniform and stays inside (0, 1)") {
  // The extreme draws: all bits clear, all bits set.
  CHECK(0.5 * 0x1p-52 > 0);
  CHECK((static_cast<double>(~uint64_t{0} >> 12) + 0.5) * 0x1p-52 < 1);
  Rng rng(8);
  std::vector<uint64_t> observed(100);
  for (int i = 0; i < 200'000; ++i) {
    const double value = rng.open_unit();
    REQUIRE((value > 0 && value < 1));
    ++observed[static_cast<size_t>(value * 100)];
  }
  CHECK(chi_square(observed, std::vector<double>(100, 2000)) < chi_square_limit(100));
}

}  // namespace
}  // namespace longhaul
