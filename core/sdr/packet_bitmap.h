#pragma once

/// Which packets of a message or transfer have arrived: one bit each, worked on a word at a time.

#include <bit>
#include <cstdint>
#include <vector>

#include "core/base/check.h"

namespace longhaul {

class PacketBitmap {
 public:
  explicit PacketBitmap(uint64_t packets = 0) { reset(packets); }

  /// All clear, for `packets` packets. Costs what this size costs, whatever it was before.
  void reset(uint64_t packets) {
    packets_ = packets;
    count_ = 0;
    words_.assign((packets + 63) / 64, 0);
  }

  uint64_t packets() const { return packets_; }
  uint64_t count() const { return count_; }
  bool full() const { return count_ == packets_; }
  bool test(uint64_t packet) const { return words_[packet / 64] >> (packet % 64) & 1; }

  /// Sets [first, first + count) and returns how many were not set before.
  uint64_t set(uint64_t first, uint64_t count) {
    return set_words(first, count, [](uint64_t, uint64_t) {});
  }

  /// The same, and calls `fresh(first, count)` for each run of packets that were not set before, in
  /// pieces of at most a word, in ascending order.
  template <class Fresh>
  uint64_t set(uint64_t first, uint64_t count, Fresh&& fresh) {
    return set_words(first, count,
                     [&](uint64_t base, uint64_t bits) { report(base, bits, fresh); });
  }

  bool all_set(uint64_t first, uint64_t count) const {
    for (uint64_t at = first, end = first + count; at < end; at = (at / 64 + 1) * 64) {
      const uint64_t mask = mask_from(at, end);
      if ((words_[at / 64] & mask) != mask) return false;
    }
    return true;
  }

  /// The first packet >= `from` that is (not) set, or packets().
  uint64_t next_clear(uint64_t from) const { return next<true>(from); }
  uint64_t next_set(uint64_t from) const { return next<false>(from); }

 private:
  /// `fresh_word(base, bits)` hears of each word's bits that were not set before.
  template <class FreshWord>
  uint64_t set_words(uint64_t first, uint64_t count, FreshWord&& fresh_word) {
    LONGHAUL_CHECK(count <= packets_ && first <= packets_ - count);
    uint64_t added = 0;
    for (uint64_t at = first, end = first + count; at < end;) {
      const uint64_t mask = mask_from(at, end);
      uint64_t& word = words_[at / 64];
      const uint64_t fresh_bits = mask & ~word;
      word |= mask;
      added += static_cast<uint64_t>(std::popcount(fresh_bits));
      if (fresh_bits != 0) fresh_word(at / 64 * 64, fresh_bits);
      at = (at / 64 + 1) * 64;
    }
    count_ += added;
    return added;
  }

  /// Bits of the word of `at` that lie in [at, end).
  static uint64_t mask_from(uint64_t at, uint64_t end) {
    uint64_t mask = ~uint64_t{0} << (at % 64);
    if (const uint64_t word_end = (at / 64 + 1) * 64; end < word_end)
      mask &= ~uint64_t{0} >> (word_end - end);
    return mask;
  }

  template <class Fresh>
  static void report(uint64_t base, uint64_t bits, Fresh&& fresh) {
    while (bits != 0) {
      const auto skip = static_cast<uint64_t>(std::countr_zero(bits));
      const auto run = static_cast<uint64_t>(std::countr_one(bits >> skip));
      fresh(base + skip, run);
      if (skip + run == 64) break;
      bits &= ~uint64_t{0} << (skip + run);
    }
  }

  template <bool Clear>
  uint64_t next(uint64_t from) const {
    if (from >= packets_) return packets_;
    uint64_t index = from / 64;
    uint64_t word = (Clear ? ~words_[index] : words_[index]) & ~uint64_t{0} << (from % 64);
    while (word == 0) {
      if (++index == words_.size()) return packets_;
      word = Clear ? ~words_[index] : words_[index];
    }
    const uint64_t found = index * 64 + static_cast<uint64_t>(std::countr_zero(word));
    return found < packets_ ? found : packets_;
  }

  uint64_t packets_ = 0;
  uint64_t count_ = 0;
  std::vector<uint64_t> words_;
};

}  // namespace longhaul
