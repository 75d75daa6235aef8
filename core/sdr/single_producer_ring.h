#pragma once

/// A bounded queue from one thread to one other, without locks.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/check.h"

namespace longhaul {

/// Memory that two threads write is kept this far apart.
inline constexpr size_t kCacheLineBytes = 64;

template <class T>
class SingleProducerRing {
 public:
  /// `capacity` is a power of two.
  explicit SingleProducerRing(size_t capacity) : items_(capacity), mask_(capacity - 1) {
    LONGHAUL_CHECK(std::has_single_bit(capacity));
  }

  /// Producer: free places in a row, at most `wanted`; none when the ring is full. Asks for the
  /// consumer's position, which costs a cache miss, only when it has to.
  std::span<T> writable(size_t wanted) {
    const size_t at = head_ & mask_;
    wanted = std::min(wanted, items_.size() - at);
    size_t room = items_.size() - (head_ - tail_seen_);
    if (room < wanted) {
      tail_seen_ = tail_.load(std::memory_order_acquire);
      room = items_.size() - (head_ - tail_seen_);
    }
    return {items_.data() + at, std::min(wanted, room)};
  }

  /// Producer: hands over the first `count` of writable().
  void publish(size_t count) {
    head_ += count;
    head_published_.store(head_, std::memory_order_release);
  }

  /// Consumer: calls visit(const T&) for every item that was published before the call, in order,
  /// and returns how many these were. `visit` must not use the ring.
  template <class Visit>
  size_t consume(Visit&& visit) {
    const uint64_t begin = tail_.load(std::memory_order_relaxed);
    const uint64_t end = head_published_.load(std::memory_order_acquire);
    for (uint64_t at = begin; at != end;) {
      const size_t offset = at & mask_;
      const size_t row = std::min<size_t>(end - at, items_.size() - offset);
      for (const T& item : std::span<const T>(items_).subspan(offset, row)) visit(item);
      at += row;
    }
    if (end != begin) tail_.store(end, std::memory_order_release);
    return end - begin;
  }

 private:
  std::vector<T> items_;
  size_t mask_;
  alignas(kCacheLineBytes) uint64_t head_ = 0;  ///< producer's own
  uint64_t tail_seen_ = 0;                      ///< producer's own
  alignas(kCacheLineBytes) std::atomic<uint64_t> head_published_ = 0;
  alignas(kCacheLineBytes) std::atomic<uint64_t> tail_ = 0;
};

}  // namespace longhaul
