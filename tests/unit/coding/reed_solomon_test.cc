#include "core/coding/reed_solomon.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/coding/gf256.h"
#include "core/coding/reference_code.h"
#include "tests/catch.h"
#include "tests/unit/coding/code_fixture.h"

namespace longhaul {
namespace {

using testing::random_choice;
using testing::recovers;
using testing::Symbols;

using Size = std::pair<uint32_t, uint32_t>;

// Fixed sizes at the edges, then random ones up to k + m = 255.
std::vector<Size> sizes() {
  std::vector<Size> list = {{1, 1},  {1, 2},   {4, 1},   {8, 2},    {10, 4},    {16, 4}, {32, 4},
                            {32, 8}, {254, 1}, {1, 254}, {200, 55}, {127, 128}, {5, 6},  {6, 7}};
  Rng rng(1);
  for (int i = 0; i < 20; ++i) {
    const auto data = static_cast<uint32_t>(rng.between(1, 254));
    list.emplace_back(data, static_cast<uint32_t>(rng.between(1, 255 - data)));
  }
  return list;
}

constexpr size_t kLengths[] = {0, 1, 7, 8, 63, 64, 65, 127, 128, 4095, 4096, 4097, 4160, 9000};

TEST_CASE("The field's tables agree with multiplication by shift and add") {
  uint32_t wrong = 0;
  for (uint32_t a = 1; a < 256; ++a) {
    const auto left = static_cast<uint8_t>(a);
    wrong += reference_product(left, gf256::inverse(left)) == 1 ? 0 : 1;
    for (uint32_t b = 1; b < 256; ++b) {
      const auto right = static_cast<uint8_t>(b);
      const uint8_t product = gf256::exp(gf256::log(left) + gf256::log(right));
      wrong += product == reference_product(left, right) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  CHECK(reference_product(0, 77) == 0);
  CHECK(reference_product(0x80, 2) == 0x1d);
}

TEST_CASE("Coefficients equal the reference's") {
  for (const auto& [k, m] : sizes()) {
    const ReedSolomon code(k, m);
    const ReferenceCode reference(k, m);
    uint32_t wrong = 0;
    for (uint32_t parity = 0; parity < m; ++parity) {
      for (uint32_t data = 0; data < k; ++data) {
        wrong += code.coefficient(parity, data) == reference.coefficient(parity, data) ? 0 : 1;
      }
    }
    CAPTURE(k, m);
    CHECK(wrong == 0);
  }
}

TEST_CASE("encode equals the reference for all sizes") {
  for (const auto& [k, m] : sizes()) {
    for (const size_t bytes : {8u, 70u}) {
      CAPTURE(k, m, bytes);
      const Symbols data(k, bytes, Rng(k).fork(m));
      Symbols fast(m, bytes);
      Symbols slow(m, bytes);
      ReedSolomon(k, m).encode(data.inputs(), fast.outputs(), bytes);
      ReferenceCode(k, m).encode(data.inputs(), slow.outputs(), bytes);
      CHECK(fast == slow);  // guard bytes included
    }
  }
}

TEST_CASE("encode equals the reference for all lengths, unaligned, writing nothing beyond") {
  for (const auto& [k, m] : {Size{4, 1}, Size{8, 2}, Size{32, 8}, Size{3, 7}}) {
    const ReedSolomon code(k, m);
    const ReferenceCode reference(k, m);
    for (const size_t bytes : kLengths) {
      CAPTURE(k, m, bytes);
      const Symbols data(k, bytes, Rng(bytes));
      Symbols fast(m, bytes);
      Symbols slow(m, bytes);
      code.encode(data.inputs(), fast.outputs(), bytes);
      reference.encode(data.inputs(), slow.outputs(), bytes);
      CHECK(fast == slow);
    }
  }
}

TEST_CASE("Null data symbols stand for zeros") {
  constexpr uint32_t kData = 12;
  constexpr uint32_t kParity = 4;
  const ReedSolomon code(kData, kParity);
  Rng rng(3);
  for (const size_t bytes : kLengths) {
    for (uint32_t present = 0; present <= kData; ++present) {
      CAPTURE(bytes, present);
      Symbols data(kData, bytes);
      for (uint32_t i = 0; i < kData; ++i) std::fill_n(data.at(i), bytes, std::byte{0});
      std::vector<const std::byte*> sparse(kData, nullptr);
      for (const uint32_t index : random_choice(rng, kData, present)) {
        for (size_t i = 0; i < bytes; ++i) data.at(index)[i] = static_cast<std::byte>(rng.next());
        sparse[index] = data.at(index);
      }
      Symbols from_null(kParity, bytes);
      Symbols from_zeros(kParity, bytes);
      code.encode(sparse, from_null.outputs(), bytes);
      code.encode(data.inputs(), from_zeros.outputs(), bytes);
      CHECK(from_null == from_zeros);

      // The same on the way back: lose three, null sources still null.
      const std::vector<uint32_t> erased = random_choice(rng, kData, 3);
      const std::vector<uint32_t> used = random_choice(rng, kParity, 3);
      const auto plan = code.plan_decode(erased, used);
      std::vector<const std::byte*> sources;
      for (const uint32_t source : plan.sources()) {
        sources.push_back(source < kData ? sparse[source] : from_null.at(source - kData));
      }
      Symbols rebuilt(3, bytes);
      code.decode(plan, sources, rebuilt.outputs(), bytes);
      for (size_t i = 0; i < erased.size(); ++i) {
        CHECK(std::ranges::equal(rebuilt.bytes(i), data.bytes(erased[i])));
      }
      CHECK(rebuilt.guards_intact());
    }
  }
}

TEST_CASE("decode rebuilds random erasures for all sizes and lengths") {
  Rng rng(4);
  for (const auto& [k, m] : sizes()) {
    const ReedSolomon code(k, m);
    for (const size_t bytes : kLengths) {
      const Symbols data(k, bytes, rng.fork(bytes));
      Symbols parity(m, bytes);
      code.encode(data.inputs(), parity.outputs(), bytes);
      const auto count = static_cast<uint32_t>(rng.between(1, std::min(k, m)));
      const auto erased = random_choice(rng, k, count);
      const auto used = random_choice(rng, m, count);
      CAPTURE(k, m, bytes, erased, used);
      CHECK(recovers(code, data, parity, erased, used, bytes));
    }
  }
}

TEST_CASE("decode equals the reference, which eliminates the full system") {
  Rng rng(5);
  for (const auto& [k, m] : sizes()) {
    if (k > 60) continue;  // elimination is cubic
    constexpr size_t kBytes = 16;
    const ReedSolomon code(k, m);
    const ReferenceCode reference(k, m);
    const Symbols data(k, kBytes, rng.fork(k));
    Symbols parity(m, kBytes);
    code.encode(data.inputs(), parity.outputs(), kBytes);
    const uint32_t count = std::min(k, m);
    const auto erased = random_choice(rng, k, count);
    const auto plan = code.plan_decode(erased, random_choice(rng, m, count));
    std::vector<const std::byte*> sources;
    for (const uint32_t source : plan.sources()) {
      sources.push_back(source < k ? data.inputs()[source] : parity.inputs()[source - k]);
    }
    Symbols fast(count, kBytes);
    Symbols slow(k, kBytes);
    code.decode(plan, sources, fast.outputs(), kBytes);
    CAPTURE(k, m, erased);
    REQUIRE(reference.decode(plan.sources(), sources, slow.outputs(), kBytes));
    for (uint32_t i = 0; i < count; ++i) {
      CHECK(std::ranges::equal(fast.bytes(i), slow.bytes(erased[i])));
    }
    CHECK(slow == data);
  }
}

TEST_CASE("A plan lists what it rebuilds and what it takes") {
  const ReedSolomon code(6, 4);
  const auto plan = code.plan_decode(std::vector<uint32_t>{1, 4}, std::vector<uint32_t>{0, 3});
  CHECK(plan.erased() == std::vector<uint32_t>{1, 4});
  CHECK(plan.sources() == std::vector<uint32_t>{0, 2, 3, 5, 6, 9});
}

TEST_CASE("A plan for nothing erased rebuilds nothing") {
  const ReedSolomon code(6, 4);
  const auto plan = code.plan_decode({}, {});
  CHECK(plan.erased().empty());
  CHECK(plan.sources().size() == 6);
  const Symbols data(6, 100, Rng(6));
  code.decode(plan, data.inputs(), {}, 100);
}

TEST_CASE("The hash tells codes apart and is the same everywhere") {
  std::vector<uint64_t> hashes;
  for (uint32_t k = 1; k <= 40; ++k) {
    for (uint32_t m = 1; m <= 12; ++m) hashes.push_back(ReedSolomon(k, m).matrix_hash());
  }
  std::ranges::sort(hashes);
  CHECK(std::ranges::adjacent_find(hashes) == hashes.end());
  CHECK(ReedSolomon(32, 8).matrix_hash() == ReedSolomon(32, 8).matrix_hash());
  CHECK(ReedSolomon(32, 8).matrix_hash() == 0x153be195fd359eb0);
}

}  // namespace
}  // namespace longhaul
