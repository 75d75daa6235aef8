#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "core/coding/reed_solomon.h"
#include "core/coding/reference_code.h"
#include "tests/catch.h"

namespace longhaul {
namespace {

/// The definition of `code_matrix_hash` over any construction.
template <class Coefficient>
uint64_t hash_of(Coefficient&& coefficient) {
  uint64_t all = 0;
  for (uint32_t k = 1; k <= 254; ++k) {
    uint64_t hash = mix64(k, 255 - k);
    for (uint32_t parity = 0; parity < 255 - k; ++parity) {
      for (uint32_t data = 0; data < k; ++data) {
        hash = mix64(hash, static_cast<uint8_t>(coefficient(k, parity, data)));
      }
    }
    all = mix64(all, hash);
  }
  return all;
}

/// Inverses in the field with `polynomial`, by trial.
std::array<uint8_t, 256> inverses(uint32_t polynomial) {
  const auto product = [&](uint32_t a, uint32_t b) {
    uint32_t result = 0;
    for (; b != 0; b >>= 1, a = a << 1 ^ (a >> 7) * polynomial) result ^= (b & 1) * a;
    return result;
  };
  std::array<uint8_t, 256> table{};
  for (uint32_t a = 1; a < 256; ++a) {
    for (uint32_t b = 1; b < 256; ++b) {
      if (product(a, b) == 1) table[a] = static_cast<uint8_t>(b);
    }
  }
  return table;
}

TEST_CASE("the hash of the code's matrices is over what the codes use, the same everywhere") {
  CHECK(code_matrix_hash() == 0x6a5235df739f3f34);
  std::vector<ReedSolomon> codes;
  for (uint32_t k = 1; k <= 254; ++k) codes.emplace_back(k, 255 - k);
  CHECK(hash_of([&](uint32_t k, uint32_t parity, uint32_t data) {
          return codes[k - 1].coefficient(parity, data);
        }) == code_matrix_hash());
}

TEST_CASE("fewer parity symbols are the first rows of the same matrix") {
  for (const auto& [k, m] : {std::pair{32u, 8u}, {4u, 1u}, {100u, 154u}}) {
    const ReedSolomon some(k, m);
    const ReedSolomon most(k, 255 - k);
    uint32_t wrong = 0;
    for (uint32_t parity = 0; parity < m; ++parity) {
      for (uint32_t data = 0; data < k; ++data) {
        wrong += some.coefficient(parity, data) == most.coefficient(parity, data) ? 0 : 1;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("other constructions have other hashes") {
  const auto field = inverses(0x11d);
  const auto cauchy = [&](uint32_t k, uint32_t parity, uint32_t data) {
    return field[(k + parity) ^ data];
  };
  CHECK(hash_of(cauchy) == code_matrix_hash());
  const auto other_field = inverses(0x11b);
  CHECK(hash_of([&](uint32_t k, uint32_t parity, uint32_t data) {
          return other_field[(k + parity) ^ data];
        }) != code_matrix_hash());
  // The points in another order.
  CHECK(hash_of([&](uint32_t k, uint32_t parity, uint32_t data) {
          return field[(254 - parity) ^ (k - 1 - data)];
        }) != code_matrix_hash());
  // One coefficient of one code.
  CHECK(hash_of([&](uint32_t k, uint32_t parity, uint32_t data) {
          return cauchy(k, parity, data) ^ (k == 32 && parity == 7 && data == 31 ? 1 : 0);
        }) != code_matrix_hash());
  // Vandermonde: each row holds the powers of one element.
  CHECK(hash_of([power = uint8_t{0}](uint32_t, uint32_t parity, uint32_t data) mutable {
          const auto base = static_cast<uint8_t>(1u << parity % 8);
          power = data == 0 ? uint8_t{1} : reference_product(power, base);
          return power;
        }) != code_matrix_hash());
}

}  // namespace
}  // namespace longhaul
