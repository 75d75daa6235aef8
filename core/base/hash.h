#pragma once

/// 64-bit mixing, the root of seeds, payload and checksums. Not cryptographic.

#include <cstdint>

namespace longhaul {

/// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014): a bijection on 64 bits with full avalanche.
constexpr uint64_t mix64(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

/// The increment of SplitMix64: 2^64 divided by the golden ratio, made odd.
inline constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;

/// Two words into one; the order of the arguments counts.
constexpr uint64_t mix64(uint64_t first, uint64_t second) {
  return mix64(mix64(first + kGoldenGamma) ^ (second * kGoldenGamma));
}

}  // namespace longhaul
