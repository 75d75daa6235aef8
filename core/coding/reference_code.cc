#include "core/coding/reference_code.h"

#include <algorithm>

#include "core/base/check.h"

namespace longhaul {
namespace {

using Matrix = std::vector<std::vector<uint8_t>>;

/// value^254, which is 1 / value: the group has 255 elements.
uint8_t reference_inverse(uint8_t value) {
  uint8_t power = 1;
  for (int i = 0; i < 254; ++i) power = reference_product(power, value);
  return power;
}

/// Reduces the left half of `rows` (n x 2n) to the identity; false if it is singular.
bool eliminate(Matrix& rows) {
  for (size_t pivot = 0; pivot < rows.size(); ++pivot) {
    size_t found = pivot;
    while (found < rows.size() && rows[found][pivot] == 0) ++found;
    if (found == rows.size()) return false;
    std::swap(rows[pivot], rows[found]);
    const uint8_t scale = reference_inverse(rows[pivot][pivot]);
    for (uint8_t& entry : rows[pivot]) entry = reference_product(entry, scale);
    for (size_t row = 0; row < rows.size(); ++row) {
      const uint8_t factor = rows[row][pivot];
      if (row == pivot || factor == 0) continue;
      for (size_t column = 0; column < rows[row].size(); ++column) {
        rows[row][column] ^= reference_product(factor, rows[pivot][column]);
      }
    }
  }
  return true;
}

void add_product(uint8_t factor, const std::byte* source, std::byte* output, size_t bytes) {
  if (source == nullptr) return;
  for (size_t i = 0; i < bytes; ++i) {
    output[i] ^= std::byte{reference_product(factor, std::to_integer<uint8_t>(source[i]))};
  }
}

}  // namespace

uint8_t reference_product(uint8_t a, uint8_t b) {
  uint32_t product = 0;
  for (uint32_t bit = 0, shifted = a; bit < 8; ++bit) {
    if ((b >> bit & 1) != 0) product ^= shifted;
    shifted <<= 1;
    if (shifted > 0xff) shifted ^= 0x11d;
  }
  return static_cast<uint8_t>(product);
}

ReferenceCode::ReferenceCode(uint32_t data_count, uint32_t parity_count)
    : data_count_(data_count), parity_count_(parity_count) {
  LONGHAUL_CHECK(data_count >= 1 && parity_count >= 1);
  LONGHAUL_CHECK_OP(uint64_t{data_count} + parity_count, <=, 255u);
}

uint8_t ReferenceCode::coefficient(uint32_t parity, uint32_t data) const {
  LONGHAUL_CHECK(parity < parity_count_ && data < data_count_);
  return reference_inverse(static_cast<uint8_t>((data_count_ + parity) ^ data));
}

void ReferenceCode::encode(std::span<const std::byte* const> data,
                           std::span<std::byte* const> parity, size_t bytes) const {
  LONGHAUL_CHECK(data.size() == data_count_ && parity.size() == parity_count_);
  for (uint32_t row = 0; row < parity_count_; ++row) {
    std::fill_n(parity[row], bytes, std::byte{0});
    for (uint32_t column = 0; column < data_count_; ++column) {
      add_product(coefficient(row, column), data[column], parity[row], bytes);
    }
  }
}

bool ReferenceCode::decode(std::span<const uint32_t> symbols,
                           std::span<const std::byte* const> sources,
                           std::span<std::byte* const> out, size_t bytes) const {
  LONGHAUL_CHECK(symbols.size() == data_count_ && sources.size() == data_count_);
  LONGHAUL_CHECK_OP(out.size(), ==, data_count_);
  // Each source is a known combination of the data: those k equations beside the identity.
  Matrix rows(data_count_, std::vector<uint8_t>(size_t{2} * data_count_));
  for (uint32_t row = 0; row < data_count_; ++row) {
    LONGHAUL_CHECK_OP(symbols[row], <, data_count_ + parity_count_);
    rows[row][data_count_ + row] = 1;
    if (symbols[row] < data_count_) {
      rows[row][symbols[row]] = 1;
      continue;
    }
    for (uint32_t column = 0; column < data_count_; ++column) {
      rows[row][column] = coefficient(symbols[row] - data_count_, column);
    }
  }
  if (!eliminate(rows)) return false;
  for (uint32_t row = 0; row < data_count_; ++row) {
    std::fill_n(out[row], bytes, std::byte{0});
    for (uint32_t column = 0; column < data_count_; ++column) {
      add_product(rows[row][data_count_ + column], sources[column], out[row], bytes);
    }
  }
  return true;
}

}  // namespace longhaul
