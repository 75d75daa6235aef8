#include "core/memory/memory.h"

#include <array>
#include <bit>
#include <cstring>

#include "core/base/hash.h"

namespace longhaul {
namespace {

constexpr size_t kLanes = 8;
constexpr uint64_t kMultiplier =
    0xd6e8feb86659fd93u;  // odd, with good avalanche (Stafford's mix family)

void absorb(std::array<uint64_t, kLanes>& lanes, const std::byte* block) {
  for (size_t lane = 0; lane < kLanes; ++lane) {
    uint64_t word;
    std::memcpy(&word, block + lane * sizeof word, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    lanes[lane] = (std::rotl(lanes[lane], 29) ^ word) * kMultiplier;
  }
}

}  // namespace

uint64_t memory_checksum(std::span<const std::byte> bytes) {
  constexpr size_t kBlock = kLanes * sizeof(uint64_t);
  std::array<uint64_t, kLanes> lanes;
  for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = mix64(lane + 1);
  size_t done = 0;
  for (; done + kBlock <= bytes.size(); done += kBlock) absorb(lanes, bytes.data() + done);
  if (done < bytes.size()) {
    std::array<std::byte, kBlock> tail{};
    std::memcpy(tail.data(), bytes.data() + done, bytes.size() - done);
    absorb(lanes, tail.data());
  }
  uint64_t sum = bytes.size();
  for (const uint64_t lane : lanes) sum = mix64(sum, lane);
  return sum;
}

}  // namespace longhaul
