/// Erasure coding, in bytes of data per second on one core: Longhaul's coder beside bare ISA-L
/// calls on the same buffers. `memory` walks stripes that fill 512 MiB, `cache` stays on one
/// stripe.

#include <benchmark/benchmark.h>
#include <isa-l/erasure_code.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/base/rng.h"
#include "core/coding/reed_solomon.h"

namespace {

using longhaul::ReedSolomon;
using longhaul::Rng;

constexpr size_t kSymbolBytes = 64 * 1024;
constexpr size_t kMemoryBytes = size_t{512} << 20;
constexpr size_t kPageBytes = 4096;

enum class Place { memory, cache };

/// Stripes of k + m symbols in one block, as a message and its parity lie in memory.
class Stripes {
 public:
  Stripes(uint32_t data_count, uint32_t parity_count, Place place,
          size_t symbol_bytes = kSymbolBytes)
      : symbols_(data_count + parity_count),
        data_count_(data_count),
        symbol_bytes_(symbol_bytes),
        count_(place == Place::cache ? 1 : kMemoryBytes / (symbols_ * symbol_bytes)),
        block_(static_cast<std::byte*>(std::aligned_alloc(
            kPageBytes,
            (count_ * symbols_ * symbol_bytes + kPageBytes - 1) / kPageBytes * kPageBytes))) {
    Rng rng(1);
    for (size_t i = 0; i < count_ * symbols_ * symbol_bytes; ++i) {
      block_.get()[i] = static_cast<std::byte>(rng.next());
    }
  }

  /// Moves on to the next stripe, round and round.
  void next() { stripe_ = (stripe_ + 1) % count_; }

  std::byte* symbol(size_t index) const {
    return block_.get() + (stripe_ * symbols_ + index) * symbol_bytes_;
  }

  size_t data_bytes() const { return data_count_ * symbol_bytes_; }

 private:
  struct Free {
    void operator()(std::byte* block) const { std::free(block); }
  };
  size_t symbols_;
  size_t data_count_;
  size_t symbol_bytes_;
  size_t count_;
  size_t stripe_ = 0;
  std::unique_ptr<std::byte, Free> block_;
};

void report(benchmark::State& state, const Stripes& stripes) {
  state.counters["data"] = benchmark::Counter(static_cast<double>(stripes.data_bytes()),
                                              benchmark::Counter::kIsIterationInvariantRate);
}

uint32_t data_count(const benchmark::State& state) { return static_cast<uint32_t>(state.range(0)); }
uint32_t parity_count(const benchmark::State& state) {
  return static_cast<uint32_t>(state.range(1));
}

void encode(benchmark::State& state, Place place, size_t symbol_bytes) {
  const uint32_t k = data_count(state);
  const uint32_t m = parity_count(state);
  const ReedSolomon code(k, m);
  Stripes stripes(k, m, place, symbol_bytes);
  std::vector<const std::byte*> data(k);
  std::vector<std::byte*> parity(m);
  for (auto _ : state) {
    stripes.next();
    for (uint32_t i = 0; i < k; ++i) data[i] = stripes.symbol(i);
    for (uint32_t i = 0; i < m; ++i) parity[i] = stripes.symbol(k + i);
    code.encode(data, parity, symbol_bytes);
    benchmark::ClobberMemory();
  }
  report(state, stripes);
}

/// Rebuilds the first m data symbols of each stripe with one plan.
void decode(benchmark::State& state, Place place) {
  const uint32_t k = data_count(state);
  const uint32_t m = parity_count(state);
  const ReedSolomon code(k, m);
  Stripes stripes(k, m, place);
  std::vector<uint32_t> numbers(m);
  for (uint32_t i = 0; i < m; ++i) numbers[i] = i;
  const auto plan = code.plan_decode(numbers, numbers);
  std::vector<const std::byte*> sources(k);
  std::vector<std::byte*> out(m);
  for (auto _ : state) {
    stripes.next();
    for (uint32_t i = 0; i < k; ++i) sources[i] = stripes.symbol(plan.sources()[i]);
    for (uint32_t i = 0; i < m; ++i) out[i] = stripes.symbol(i);
    code.decode(plan, sources, out, kSymbolBytes);
    benchmark::ClobberMemory();
  }
  report(state, stripes);
}

void isal(benchmark::State& state, Place place) {
  const uint32_t k = data_count(state);
  const uint32_t m = parity_count(state);
  std::vector<uint8_t> matrix((k + m) * k);
  std::vector<uint8_t> tables(size_t{32} * k * m);
  gf_gen_cauchy1_matrix(matrix.data(), static_cast<int>(k + m), static_cast<int>(k));
  ec_init_tables(static_cast<int>(k), static_cast<int>(m), matrix.data() + size_t{k} * k,
                 tables.data());
  Stripes stripes(k, m, place);
  std::vector<uint8_t*> pointers(k + m);
  for (auto _ : state) {
    stripes.next();
    for (uint32_t i = 0; i < k + m; ++i) {
      pointers[i] = reinterpret_cast<uint8_t*>(stripes.symbol(i));
    }
    ec_encode_data(static_cast<int>(kSymbolBytes), static_cast<int>(k), static_cast<int>(m),
                   tables.data(), pointers.data(), pointers.data() + k);
    benchmark::ClobberMemory();
  }
  report(state, stripes);
}

void construct(benchmark::State& state) {
  for (auto _ : state) {
    const ReedSolomon code(data_count(state), parity_count(state));
    benchmark::DoNotOptimize(code.matrix_hash());
  }
}

void plan(benchmark::State& state) {
  const ReedSolomon code(data_count(state), parity_count(state));
  std::vector<uint32_t> numbers(std::min(code.data_count(), code.parity_count()));
  for (uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  for (auto _ : state) benchmark::DoNotOptimize(code.plan_decode(numbers, numbers));
}

void codes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"k", "m"})->Args({4, 1})->Args({8, 2})->Args({16, 4})->Args({32, 8});
}

void more_codes(benchmark::internal::Benchmark* benchmark) {
  codes(benchmark);
  benchmark->Args({200, 10})->Args({200, 55});
}

BENCHMARK_CAPTURE(encode, memory, Place::memory, kSymbolBytes)->Apply(codes);
BENCHMARK_CAPTURE(isal, memory, Place::memory)->Apply(codes);
BENCHMARK_CAPTURE(decode, memory, Place::memory)->Apply(codes);
BENCHMARK_CAPTURE(encode, cache, Place::cache, kSymbolBytes)->Apply(codes);
BENCHMARK_CAPTURE(isal, cache, Place::cache)->Apply(codes);
BENCHMARK_CAPTURE(decode, cache, Place::cache)->Apply(codes);
BENCHMARK_CAPTURE(encode, payload_tags, Place::cache, 8)->Apply(codes);
BENCHMARK(construct)->Apply(more_codes);
BENCHMARK(plan)->Apply(more_codes);

}  // namespace
