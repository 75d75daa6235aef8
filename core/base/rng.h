#pragma once

/// The only source of chance: one 64-bit seed, forked into independent generators by label.

#include <array>
#include <bit>
#include <cstdint>

#include "core/base/hash.h"

namespace longhaul {

/// xoshiro256++ 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM
/// TOMS 2021), seeded by SplitMix64 as its authors advise. The same on every compiler and CPU.
class Rng {
 public:
  explicit constexpr Rng(uint64_t seed) : seed_(seed) {
    uint64_t state = seed;
    for (uint64_t& word : state_) word = mix64(state += kGoldenGamma);
  }

  /// A generator of its own for `label`. It depends on this one's seed alone, not on how much was
  /// drawn from it, so that adding a draw in one place changes nothing elsewhere.
  constexpr Rng fork(uint64_t label) const { return Rng(mix64(seed_, label)); }

  constexpr uint64_t next() {
    const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, bound), bound > 0, without bias (Lemire, "Fast random integer generation in an
  /// interval", ACM TOMACS 2019).
  constexpr uint64_t below(uint64_t bound) {
    auto product = static_cast<unsigned __int128>(next()) * bound;
    if (static_cast<uint64_t>(product) < bound) {
      const uint64_t threshold = -bound % bound;
      while (static_cast<uint64_t>(product) < threshold) {
        product = static_cast<unsigned __int128>(next()) * bound;
      }
    }
    return static_cast<uint64_t>(product >> 64);
  }

  /// Uniform in [first, last].
  constexpr uint64_t between(uint64_t first, uint64_t last) {
    return first + below(last - first + 1);
  }

  /// Uniform in (0, 1): the midpoints of 2^52 equal cells, so never 0, never 1, and never rounded.
  constexpr double open_unit() { return (static_cast<double>(next() >> 12) + 0.5) * 0x1p-52; }

  constexpr uint64_t seed() const { return seed_; }

 private:
  uint64_t seed_;
  std::array<uint64_t, 4> state_{};
};

}  // namespace longhaul
