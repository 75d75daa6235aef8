#pragma once

/// The code of reed_solomon.h once more, without tables, libraries or tricks: slow, and simple
/// enough to be believed. The oracle that the fast version is tested against.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace longhaul {

/// Product in GF(2^8), polynomial 0x11d, by shift and add.
uint8_t reference_product(uint8_t a, uint8_t b);

class ReferenceCode {
 public:
  /// 1 <= k, 1 <= m, k + m <= 255; CHECKed.
  ReferenceCode(uint32_t data_count, uint32_t parity_count);

  /// Coefficient of data symbol `data` in parity symbol `parity`.
  uint8_t coefficient(uint32_t parity, uint32_t data) const;

  /// As ReedSolomon::encode: k data symbols, of which null ones stand for zeros, to m parity
  /// symbols.
  void encode(std::span<const std::byte* const> data, std::span<std::byte* const> parity,
              size_t bytes) const;

  /// The whole stripe's k data symbols from any k of its symbols. `symbols`: numbers of the sources
  /// (parity i is k + i), without repeats; `sources`: their bytes, null standing for zeros; `out`:
  /// k outputs, which overlap no source. By Gauss-Jordan elimination of the full k x k system.
  /// Returns false, leaving `out` unspecified, when that system is singular, which no choice should
  /// be.
  bool decode(std::span<const uint32_t> symbols, std::span<const std::byte* const> sources,
              std::span<std::byte* const> out, size_t bytes) const;

 private:
  uint32_t data_count_;
  uint32_t parity_count_;
};

}  // namespace longhaul
