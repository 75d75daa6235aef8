#include "sim/payload.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/base/hash.h"

namespace longhaul::sim {
namespace {

uint64_t word_at(uint64_t key, size_t offset) {
  const uint64_t word = mix64(key + offset * kGoldenGamma);
  return std::endian::native == std::endian::big ? __builtin_bswap64(word) : word;
}

/// The stream of `key` from `offset`, a multiple of 8, on.
void fill_from(std::span<std::byte> memory, uint64_t key, size_t offset) {
  size_t done = 0;
  for (; done + sizeof(uint64_t) <= memory.size(); done += sizeof(uint64_t)) {
    const uint64_t word = word_at(key, offset + done);
    std::memcpy(memory.data() + done, &word, sizeof word);
  }
  const uint64_t word = word_at(key, offset + done);
  if (done < memory.size()) std::memcpy(memory.data() + done, &word, memory.size() - done);
}

}  // namespace

void fill_payload(std::span<std::byte> memory, uint64_t seed) { fill_from(memory, mix64(seed), 0); }

bool payload_equals(std::span<const std::byte> memory, uint64_t seed) {
  // Block by block: memcmp reads several times faster than a loop over words.
  std::array<std::byte, 8192> expected;
  for (size_t offset = 0; offset < memory.size(); offset += expected.size()) {
    const size_t bytes = std::min(expected.size(), memory.size() - offset);
    fill_from(std::span(expected).first(bytes), mix64(seed), offset);
    if (std::memcmp(memory.data() + offset, expected.data(), bytes) != 0) return false;
  }
  return true;
}

}  // namespace longhaul::sim
