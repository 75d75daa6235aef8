// Every square sub-matrix of the parity rows must be invertible, or some k symbols do not give back
// the data. Proved here from the matrix' structure for every size on offer, and then tried.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/rng.h"
#include "core/coding/reed_solomon.h"
#include "core/coding/reference_code.h"
#include "tests/catch.h"
#include "tests/unit/coding/code_fixture.h"

namespace longhaul {
namespace {

using testing::for_each_choice;
using testing::random_choice;
using testing::recovers;
using testing::Symbols;

constexpr size_t kBytes = 8;

/// A code with one encoded stripe.
struct Stripe {
  Stripe(uint32_t data_count, uint32_t parity_count)
      : code(data_count, parity_count),
        data(data_count, kBytes, Rng(7)),
        parity(parity_count, kBytes) {
    code.encode(data.inputs(), parity.outputs(), kBytes);
  }

  bool survives(const std::vector<uint32_t>& erased, const std::vector<uint32_t>& used) const {
    return recovers(code, data, parity, erased, used, kBytes);
  }

  ReedSolomon code;
  Symbols data;
  Symbols parity;
};

struct Tally {
  uint64_t patterns = 0;
  uint64_t failures = 0;
};

// Every set of erased data symbols with every set of as many parity symbols: every way in which the
// decoder can be left with k symbols.
Tally try_all(uint32_t data_count, uint32_t parity_count) {
  const Stripe stripe(data_count, parity_count);
  Tally tally;
  for (uint32_t count = 1; count <= std::min(data_count, parity_count); ++count) {
    for_each_choice(data_count, count, [&](const std::vector<uint32_t>& erased) {
      for_each_choice(parity_count, count, [&](const std::vector<uint32_t>& used) {
        ++tally.patterns;
        tally.failures += stripe.survives(erased, used) ? 0 : 1;
      });
    });
  }
  return tally;
}

TEST_CASE("The matrix is Cauchy for every k + m <= 255, hence MDS") {
  // Entry (i, j) is 1 / (x_i + y_j) with all x_i and y_j distinct; the determinant of such a matrix
  // is a product of differences over a product of sums, none of them zero. The rows for m are the
  // first m rows for 255 - k, so that the largest m shows it for all.
  uint64_t wrong = 0;
  for (uint32_t k = 1; k <= 254; ++k) {
    const ReedSolomon code(k, 255 - k);
    for (uint32_t parity = 0; parity < 255 - k; ++parity) {
      for (uint32_t data = 0; data < k; ++data) {
        const auto sum = static_cast<uint8_t>((k + parity) ^ data);
        wrong += reference_product(code.coefficient(parity, data), sum) == 1 ? 0 : 1;
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("Parity row i is the same whatever m is") {
  for (const uint32_t k : {1u, 4u, 32u, 200u}) {
    const ReedSolomon largest(k, 255 - k);
    for (const uint32_t m : {1u, 2u, 8u, 55u}) {
      const ReedSolomon code(k, m);
      uint64_t wrong = 0;
      for (uint32_t parity = 0; parity < m; ++parity) {
        for (uint32_t data = 0; data < k; ++data) {
          wrong += code.coefficient(parity, data) == largest.coefficient(parity, data) ? 0 : 1;
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("Every erasure pattern of the small codes decodes") {
  struct Case {
    uint32_t k, m;
    uint64_t patterns;  // choose(k + m, k) - 1
  };
  for (const auto& [k, m, patterns] :
       {Case{1, 1, 1}, Case{4, 1, 4}, Case{4, 4, 69}, Case{8, 2, 44}, Case{10, 4, 1000},
        Case{16, 4, 4844}, Case{6, 8, 3002}, Case{32, 4, 58904}}) {
    CAPTURE(k, m);
    const Tally tally = try_all(k, m);
    CHECK(tally.patterns == patterns);
    CHECK(tally.failures == 0);
  }
}

TEST_CASE("The patterns that a Vandermonde matrix below the identity cannot decode") {
  CHECK(Stripe(32, 8).survives({15, 16, 31}, {2, 5, 7}));
  CHECK(Stripe(32, 4).survives({0, 1, 25}, {0, 1, 3}));  // parity 2 lost as well
}

TEST_CASE("Random erasure patterns of the large codes decode") {
  struct Case {
    uint32_t k, m;
    int patterns;
  };
  Rng rng(9);
  for (const auto& [k, m, patterns] :
       {Case{32, 8, 20'000}, Case{64, 16, 5'000}, Case{200, 10, 2'000}, Case{200, 55, 500},
        Case{127, 128, 200}, Case{245, 10, 2'000}}) {
    const Stripe stripe(k, m);
    uint64_t failures = 0;
    for (int i = 0; i < patterns; ++i) {
      const auto count = static_cast<uint32_t>(rng.between(1, std::min(k, m)));
      failures +=
          stripe.survives(random_choice(rng, k, count), random_choice(rng, m, count)) ? 0 : 1;
    }
    CAPTURE(k, m);
    CHECK(failures == 0);
  }
}

}  // namespace
}  // namespace longhaul
