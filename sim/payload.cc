#include "sim/payload.h"

#include <bit>
#include <cstring>

#include "core/base/hash.h"

namespace longhaul::sim {
namespace {

uint64_t word_at(uint64_t key, size_t offset) {
  const uint64_t word = mix64(key + offset * kGoldenGamma);
  return std::endian::native == std::endian::big ? __builtin_bswap64(word) : word;
}

}  // namespace

void fill_payload(std::span<std::byte> memory, uint64_t seed) {
  const uint64_t key = mix64(seed);
  size_t offset = 0;
  for (; offset + sizeof(uint64_t) <= memory.size(); offset += sizeof(uint64_t)) {
    const uint64_t word = word_at(key, offset);
    std::memcpy(memory.data() + offset, &word, sizeof word);
  }
  const uint64_t word = word_at(key, offset);
  if (offset < memory.size()) std::memcpy(memory.data() + offset, &word, memory.size() - offset);
}

bool payload_equals(std::span<const std::byte> memory, uint64_t seed) {
  const uint64_t key = mix64(seed);
  size_t offset = 0;
  uint64_t difference = 0;
  for (; offset + sizeof(uint64_t) <= memory.size(); offset += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, memory.data() + offset, sizeof word);
    difference |= word ^ word_at(key, offset);
  }
  const uint64_t word = word_at(key, offset);
  return difference == 0 && (offset >= memory.size() || std::memcmp(memory.data() + offset, &word,
                                                                    memory.size() - offset) == 0);
}

}  // namespace longhaul::sim
