#pragma once

/// Arithmetic in GF(2^8), field polynomial x^8 + x^4 + x^3 + x^2 + 1 (0x11d), by logarithm.
///
/// Addition is exclusive or. For matrix entries, a few thousand at a time; bulk data goes to ISA-L.

#include <array>
#include <cstdint>

#include "core/base/check.h"

namespace longhaul::gf256 {

inline constexpr uint32_t kPolynomial = 0x11d;
/// Order of the multiplicative group; x (that is, 2) generates it.
inline constexpr uint32_t kOrder = 255;

struct Tables {
  std::array<uint8_t, kOrder> power{};      ///< power[i] = 2^i
  std::array<uint8_t, kOrder + 1> index{};  ///< index[power[i]] = i; index[0] has no meaning
};

inline constexpr Tables kTables = [] {
  Tables tables;
  uint32_t value = 1;
  for (uint32_t i = 0; i < kOrder; ++i) {
    tables.power[i] = static_cast<uint8_t>(value);
    tables.index[value] = static_cast<uint8_t>(i);
    value <<= 1;
    if (value > 0xff) value ^= kPolynomial;
  }
  return tables;
}();

/// Discrete logarithm to the base 2 of a non-zero element, in [0, 255).
constexpr uint32_t log(uint8_t value) {
  LONGHAUL_CHECK(value != 0);
  return kTables.index[value];
}

/// 2^exponent; exponents count modulo 255.
constexpr uint8_t exp(uint32_t exponent) { return kTables.power[exponent % kOrder]; }

/// 1 / value; value must not be zero.
constexpr uint8_t inverse(uint8_t value) { return exp(kOrder - log(value)); }

}  // namespace longhaul::gf256
