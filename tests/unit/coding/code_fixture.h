#pragma once

/// Stripes of pseudo-random bytes, and the pointer arrays that the coders take.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/rng.h"
#include "core/coding/reed_solomon.h"

namespace longhaul::testing {

/// `count` symbols of `bytes` bytes, each at an odd address and with a guard byte behind it.
class Symbols {
 public:
  Symbols(size_t count, size_t bytes) : bytes_(bytes), storage_(count) {
    for (auto& symbol : storage_) symbol.assign(bytes + 2, kGuard);
  }

  Symbols(size_t count, size_t bytes, Rng rng) : Symbols(count, bytes) {
    for (auto& symbol : storage_) {
      for (size_t i = 0; i < bytes; ++i) symbol[i + 1] = static_cast<std::byte>(rng.next());
    }
  }

  std::byte* at(size_t index) { return storage_[index].data() + 1; }
  std::span<const std::byte> bytes(size_t index) const {
    return std::span(storage_[index]).subspan(1, bytes_);
  }

  std::vector<const std::byte*> inputs() const {
    std::vector<const std::byte*> pointers;
    for (const auto& symbol : storage_) pointers.push_back(symbol.data() + 1);
    return pointers;
  }

  std::vector<std::byte*> outputs() {
    std::vector<std::byte*> pointers;
    for (auto& symbol : storage_) pointers.push_back(symbol.data() + 1);
    return pointers;
  }

  bool guards_intact() const {
    return std::ranges::all_of(storage_, [](const auto& symbol) {
      return symbol.front() == kGuard && symbol.back() == kGuard;
    });
  }

  bool operator==(const Symbols&) const = default;

 private:
  static constexpr std::byte kGuard{0xa5};
  size_t bytes_;
  std::vector<std::vector<std::byte>> storage_;
};

/// Calls `visit` with every ascending choice of `count` numbers below `limit`.
template <typename Visit>
void for_each_choice(uint32_t limit, uint32_t count, Visit visit) {
  std::vector<uint32_t> choice(count);
  for (uint32_t i = 0; i < count; ++i) choice[i] = i;
  for (;;) {
    visit(choice);
    uint32_t i = count;
    while (i > 0 && choice[i - 1] == limit - count + i - 1) --i;
    if (i == 0) return;
    ++choice[i - 1];
    for (; i < count; ++i) choice[i] = choice[i - 1] + 1;
  }
}

/// A random ascending choice of `count` numbers below `limit`.
inline std::vector<uint32_t> random_choice(Rng& rng, uint32_t limit, uint32_t count) {
  std::vector<uint32_t> numbers(limit);
  for (uint32_t i = 0; i < limit; ++i) numbers[i] = i;
  for (uint32_t i = 0; i < count; ++i) std::swap(numbers[i], numbers[rng.between(i, limit - 1)]);
  numbers.resize(count);
  std::ranges::sort(numbers);
  return numbers;
}

/// True if `code` rebuilds the data symbols `erased` of a stripe from the rest and `parity`.
inline bool recovers(const ReedSolomon& code, const Symbols& data, const Symbols& parity,
                     std::span<const uint32_t> erased, std::span<const uint32_t> used,
                     size_t bytes) {
  const ReedSolomon::DecodePlan plan = code.plan_decode(erased, used);
  std::vector<const std::byte*> sources;
  for (const uint32_t source : plan.sources()) {
    sources.push_back(source < code.data_count() ? data.bytes(source).data()
                                                 : parity.bytes(source - code.data_count()).data());
  }
  Symbols rebuilt(erased.size(), bytes);
  code.decode(plan, sources, rebuilt.outputs(), bytes);
  for (size_t i = 0; i < erased.size(); ++i) {
    if (!std::ranges::equal(rebuilt.bytes(i), data.bytes(erased[i]))) return false;
  }
  return rebuilt.guards_intact();
}

}  // namespace longhaul::testing
