#include "core/coding/reed_solomon.h"

#include <isa-l/erasure_code.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/check.h"
#include "core/base/hash.h"
#include "core/coding/gf256.h"

namespace longhaul {
namespace {

constexpr uint32_t kMaxSymbols = 255;
/// What ISA-L asks for per coefficient, whatever its CPU-specific layout uses of it.
constexpr size_t kTableBytes = 32;
/// Below this length ISA-L leaves its vector code (AVX-512: 64, AVX2: 32) for one ten times slower.
constexpr size_t kVectorBytes = 64;
/// ISA-L makes a pass over all sources for every six outputs (four without AVX2). Where it takes
/// several, the sources are cut into slices that later passes find in cache.
constexpr size_t kOnePassOutputs = 6;
constexpr size_t kSliceBytes = 4096;
/// An ISA-L length is an int, which a symbol above 2 GiB would not fit.
constexpr size_t kMaxCallBytes = size_t{1} << 30;

using Sources = std::span<const std::byte* const>;
using Outputs = std::span<std::byte* const>;
using Pointers = std::array<unsigned char*, kMaxSymbols>;

/// ISA-L takes everything as mutable, but writes to outputs only.
unsigned char* isal_pointer(const void* data) {
  return const_cast<unsigned char*>(static_cast<const unsigned char*>(data));
}

std::vector<uint8_t> expand(const std::vector<uint8_t>& matrix, size_t columns) {
  std::vector<uint8_t> tables(matrix.size() * kTableBytes);
  if (matrix.empty()) return tables;
  ec_init_tables(static_cast<int>(columns), static_cast<int>(matrix.size() / columns),
                 isal_pointer(matrix.data()), tables.data());
  return tables;
}

void multiply_long(const std::vector<uint8_t>& tables, Sources sources, Outputs outputs,
                   size_t bytes) {
  const size_t slice_bytes = outputs.size() > kOnePassOutputs ? kSliceBytes : kMaxCallBytes;
  Pointers in;
  Pointers out;
  for (size_t begin = 0; begin < bytes;) {
    size_t length = std::min(slice_bytes, bytes - begin);
    // A remainder too short for the vector code joins the slice before it.
    if (bytes - begin - length < kVectorBytes) length = bytes - begin;
    for (size_t i = 0; i < sources.size(); ++i) in[i] = isal_pointer(sources[i] + begin);
    for (size_t i = 0; i < outputs.size(); ++i) out[i] = isal_pointer(outputs[i] + begin);
    ec_encode_data(static_cast<int>(length), static_cast<int>(sources.size()),
                   static_cast<int>(outputs.size()), isal_pointer(tables.data()), in.data(),
                   out.data());
    begin += length;
  }
}

/// Symbols shorter than a vector (payload tags have 8 bytes): a padded copy through the vector code
/// is several times faster than ISA-L's code for short lengths.
void multiply_short(const std::vector<uint8_t>& tables, Sources sources, Outputs outputs,
                    size_t bytes) {
  alignas(kVectorBytes) unsigned char padded_in[kMaxSymbols][kVectorBytes];
  alignas(kVectorBytes) unsigned char padded_out[kMaxSymbols][kVectorBytes];
  Pointers in;
  Pointers out;
  for (size_t i = 0; i < sources.size(); ++i) {
    in[i] = padded_in[i];
    std::memset(in[i], 0, kVectorBytes);
    if (sources[i] != nullptr) std::memcpy(in[i], sources[i], bytes);
  }
  for (size_t i = 0; i < outputs.size(); ++i) out[i] = padded_out[i];
  ec_encode_data(static_cast<int>(kVectorBytes), static_cast<int>(sources.size()),
                 static_cast<int>(outputs.size()), isal_pointer(tables.data()), in.data(),
                 out.data());
  for (size_t i = 0; i < outputs.size(); ++i) std::memcpy(outputs[i], padded_out[i], bytes);
}

/// Leaves the columns of null sources out. ISA-L's tables cannot be cut by column (their layout
/// differs between CPUs), so they are made anew, at 5 ns per coefficient.
void multiply_sparse(const std::vector<uint8_t>& matrix, Sources sources, Outputs outputs,
                     size_t bytes) {
  std::vector<const std::byte*> present;
  for (const std::byte* source : sources) {
    if (source != nullptr) present.push_back(source);
  }
  if (present.empty()) {
    for (std::byte* output : outputs) std::memset(output, 0, bytes);
    return;
  }
  std::vector<uint8_t> columns;
  columns.reserve(outputs.size() * present.size());
  for (size_t i = 0; i < matrix.size(); ++i) {
    if (sources[i % sources.size()] != nullptr) columns.push_back(matrix[i]);
  }
  multiply_long(expand(columns, present.size()), present, outputs, bytes);
}

/// outputs = matrix * sources, byte position by byte position.
void multiply(const std::vector<uint8_t>& matrix, const std::vector<uint8_t>& tables,
              Sources sources, Outputs outputs, size_t bytes) {
  if (bytes == 0 || outputs.empty()) return;
  LONGHAUL_CHECK(std::ranges::find(outputs, nullptr) == outputs.end());
  if (bytes < kVectorBytes) {
    multiply_short(tables, sources, outputs, bytes);
  } else if (std::ranges::find(sources, nullptr) != sources.end()) {
    multiply_sparse(matrix, sources, outputs, bytes);
  } else {
    multiply_long(tables, sources, outputs, bytes);
  }
}

bool ascending_below(std::span<const uint32_t> values, uint32_t limit) {
  return std::ranges::adjacent_find(values, std::greater_equal<>()) == values.end() &&
         (values.empty() || values.back() < limit);
}

/// m x k coefficients, row by row. Those of a smaller m are the first rows of those of a larger
/// one.
std::vector<uint8_t> cauchy_matrix(uint32_t data_count, uint32_t parity_count) {
  std::vector<uint8_t> matrix;
  matrix.reserve(size_t{parity_count} * data_count);
  for (uint32_t parity = 0; parity < parity_count; ++parity) {
    for (uint32_t data = 0; data < data_count; ++data) {
      matrix.push_back(gf256::inverse(static_cast<uint8_t>((data_count + parity) ^ data)));
    }
  }
  return matrix;
}

uint64_t hash_matrix(uint32_t data_count, uint32_t parity_count,
                     const std::vector<uint8_t>& matrix) {
  uint64_t hash = mix64(data_count, parity_count);
  for (const uint8_t entry : matrix) hash = mix64(hash, entry);
  return hash;
}

/// Logarithm of the product of (point - other) over `others`, leaving `point` itself out.
uint32_t log_distances(uint32_t point, std::span<const uint32_t> others) {
  uint32_t sum = 0;
  for (const uint32_t other : others) {
    if (other != point) sum += gf256::log(static_cast<uint8_t>(point ^ other));
  }
  return sum % gf256::kOrder;
}

}  // namespace

ReedSolomon::ReedSolomon(uint32_t data_count, uint32_t parity_count)
    : data_count_(data_count), parity_count_(parity_count) {
  LONGHAUL_CHECK_OP(data_count, >=, 1u);
  LONGHAUL_CHECK_OP(parity_count, >=, 1u);
  LONGHAUL_CHECK_OP(uint64_t{data_count} + parity_count, <=, kMaxSymbols);
  matrix_ = cauchy_matrix(data_count, parity_count);
  matrix_hash_ = hash_matrix(data_count, parity_count, matrix_);
  tables_ = expand(matrix_, data_count);
}

uint8_t ReedSolomon::coefficient(uint32_t parity, uint32_t data) const {
  LONGHAUL_CHECK_OP(parity, <, parity_count_);
  LONGHAUL_CHECK_OP(data, <, data_count_);
  return matrix_[size_t{parity} * data_count_ + data];
}

void ReedSolomon::encode(std::span<const std::byte* const> data, std::span<std::byte* const> parity,
                         size_t bytes) const {
  LONGHAUL_CHECK_OP(data.size(), ==, data_count_);
  LONGHAUL_CHECK_OP(parity.size(), ==, parity_count_);
  multiply(matrix_, tables_, data, parity, bytes);
}

// The code is a generalised Reed-Solomon code: symbol z of a stripe (data j: z = j; parity i:
// z = k + i) is, up to a factor, the value at z of one polynomial of degree below k. So the
// solution of the e x e system is Lagrange's interpolation, itself a Cauchy matrix with scaled rows
// and columns. With E the erased symbols and P the parity used, erased symbol `a` takes from source
// `b`
//
//   prod_{p in P} (a - p) / prod_{d in E, d != a} (a - d)       row factor
//   * prod_{d in E} (b - d) / prod_{p in P, p != b} (b - p)     column factor
//   / (a - b)
//
// which needs O(e) steps per row and per column, and no elimination.
ReedSolomon::DecodePlan ReedSolomon::plan_decode(std::span<const uint32_t> erased,
                                                 std::span<const uint32_t> parity) const {
  LONGHAUL_CHECK_OP(erased.size(), ==, parity.size());
  LONGHAUL_CHECK(ascending_below(erased, data_count_));
  LONGHAUL_CHECK(ascending_below(parity, parity_count_));
  DecodePlan plan;
  plan.erased_.assign(erased.begin(), erased.end());
  plan.sources_.reserve(data_count_);
  for (uint32_t data = 0; data < data_count_; ++data) {
    if (!std::ranges::binary_search(erased, data)) plan.sources_.push_back(data);
  }
  for (const uint32_t index : parity) plan.sources_.push_back(data_count_ + index);

  const std::span<const uint32_t> used(plan.sources_.end() - static_cast<ptrdiff_t>(erased.size()),
                                       plan.sources_.end());
  std::vector<uint32_t> column_logs;
  column_logs.reserve(data_count_);
  for (const uint32_t source : plan.sources_) {
    column_logs.push_back(log_distances(source, erased) + gf256::kOrder -
                          log_distances(source, used));
  }
  plan.matrix_.reserve(erased.size() * data_count_);
  for (const uint32_t symbol : erased) {
    const uint32_t row_log =
        log_distances(symbol, used) + gf256::kOrder - log_distances(symbol, erased);
    for (size_t i = 0; i < plan.sources_.size(); ++i) {
      const uint32_t distance_log = gf256::log(static_cast<uint8_t>(symbol ^ plan.sources_[i]));
      plan.matrix_.push_back(gf256::exp(row_log + column_logs[i] + gf256::kOrder - distance_log));
    }
  }
  plan.tables_ = expand(plan.matrix_, data_count_);
  return plan;
}

void ReedSolomon::decode(const DecodePlan& plan, std::span<const std::byte* const> sources,
                         std::span<std::byte* const> out, size_t bytes) const {
  LONGHAUL_CHECK_OP(plan.sources_.size(), ==, data_count_);
  LONGHAUL_CHECK_OP(sources.size(), ==, data_count_);
  LONGHAUL_CHECK_OP(out.size(), ==, plan.erased_.size());
  multiply(plan.matrix_, plan.tables_, sources, out, bytes);
}

uint64_t code_matrix_hash() {
  static const uint64_t hash = [] {
    uint64_t all = 0;
    for (uint32_t data_count = 1; data_count < kMaxSymbols; ++data_count) {
      const uint32_t parity_count = kMaxSymbols - data_count;
      all = mix64(all,
                  hash_matrix(data_count, parity_count, cauchy_matrix(data_count, parity_count)));
    }
    return all;
  }();
  return hash;
}

}  // namespace longhaul
