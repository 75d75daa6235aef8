#pragma once

/// Systematic Reed-Solomon code over GF(2^8) with a Cauchy matrix: any k of the k + m symbols of a
/// stripe give back its data.
///
/// Field polynomial x^8 + x^4 + x^3 + x^2 + 1 (0x11d), as in ISA-L. Cauchy, because ISA-L's
/// Vandermonde matrix below the identity is not MDS for, among others, (32,8).

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace longhaul {

class ReedSolomon {
 public:
  /// 1 <= k, 1 <= m, k + m <= 255; CHECKed.
  ReedSolomon(uint32_t data_count, uint32_t parity_count);

  uint32_t data_count() const { return data_count_; }
  uint32_t parity_count() const { return parity_count_; }

  /// Coefficient of data symbol `data` in parity symbol `parity`.
  uint8_t coefficient(uint32_t parity, uint32_t data) const;

  /// Hash of k, m and every coefficient: equal on both ends or they cannot talk. Of the matrix,
  /// never of ISA-L's tables, whose layout differs between CPUs.
  uint64_t matrix_hash() const { return matrix_hash_; }

  /// Computes all m parity symbols from k data symbols of `bytes` bytes each. A null data pointer
  /// stands for zeros (a stripe shorter than k). Any alignment, any length. Not thread-hostile:
  /// const calls may run at once.
  void encode(std::span<const std::byte* const> data, std::span<std::byte* const> parity,
              size_t bytes) const;

  /// How to rebuild some erased data symbols from k others; reusable for every stripe (and every
  /// byte range) with the same pattern. Made by solving for the erased symbols alone (e x e).
  class DecodePlan {
   public:
    /// The erased data symbols, ascending: the order of `decode`'s outputs.
    const std::vector<uint32_t>& erased() const { return erased_; }
    /// The k sources that `decode` takes, in order: the data symbols not erased, ascending, as
    /// their index; then the parity symbols used, as k + index.
    const std::vector<uint32_t>& sources() const { return sources_; }

   private:
    friend class ReedSolomon;
    std::vector<uint32_t> erased_;
    std::vector<uint32_t> sources_;
    std::vector<uint8_t> matrix_;  ///< erased x sources
    std::vector<uint8_t> tables_;  ///< ISA-L's expansion of matrix_
  };

  /// `erased`: the data symbols to rebuild; `parity`: as many parity symbols that are present. Both
  /// ascending, without repeats; CHECKed.
  DecodePlan plan_decode(std::span<const uint32_t> erased, std::span<const uint32_t> parity) const;

  /// Rebuilds `plan.erased()` into `out` from `plan.sources()`; null sources stand for zeros.
  void decode(const DecodePlan& plan, std::span<const std::byte* const> sources,
              std::span<std::byte* const> out, size_t bytes) const;

 private:
  uint32_t data_count_;
  uint32_t parity_count_;
  uint64_t matrix_hash_ = 0;
  std::vector<uint8_t> matrix_;  ///< m x k coefficients
  std::vector<uint8_t> tables_;  ///< ISA-L's expansion of matrix_
};

/// Hash over every coefficient of every code that can be made: all k, each with the largest m that
/// it allows (fewer parity symbols are the first rows of the same matrix). Two ends with equal
/// hashes can decode each other's parity, whatever the policy. The same on every machine; computed
/// at the first call, in about 10 ms.
uint64_t code_matrix_hash();

}  // namespace longhaul
