#include "sim/payload.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/hash.h"

namespace longhaul::sim {
namespace {

/// Calls `use(offset, word, bytes)` for each word of the stream.
template <class Use>
bool for_each_word(size_t size, uint64_t seed, Use&& use) {
  const uint64_t key = mix64(seed);
  for (size_t offset = 0; offset < size; offset += sizeof(uint64_t)) {
    uint64_t word = mix64(key + offset * kGoldenGamma);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    if (!use(offset, word, std::min(sizeof word, size - offset))) return false;
  }
  return true;
}

}  // namespace

void fill_payload(std::span<std::byte> memory, uint64_t seed) {
  for_each_word(memory.size(), seed, [&](size_t offset, uint64_t word, size_t bytes) {
    std::memcpy(memory.data() + offset, &word, bytes);
    return true;
  });
}

bool payload_equals(std::span<const std::byte> memory, uint64_t seed) {
  return for_each_word(memory.size(), seed, [&](size_t offset, uint64_t word, size_t bytes) {
    return std::memcmp(memory.data() + offset, &word, bytes) == 0;
  });
}

}  // namespace longhaul::sim
