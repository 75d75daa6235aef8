#pragma once

/// Memory of the bitmaps of live messages: handed out and taken back by one thread while others may
/// still be writing into what was taken back.

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/sdr/single_producer_ring.h"

namespace longhaul {

/// A worker's presence: odd while it is inside a batch and may hold pointers into the memory, even
/// while it is outside and holds none; never the same odd number twice.
class WorkerPresence {
 public:
  /// Sequentially consistent, as is every load of a pointer that follows: see ArrivalMemory.
  void enter() { batch_.exchange(own_ += 1, std::memory_order_seq_cst); }
  void leave() { batch_.store(own_ += 1, std::memory_order_release); }

  uint64_t batch() const { return batch_.load(std::memory_order_seq_cst); }
  static bool is_inside(uint64_t batch) { return batch % 2 != 0; }

 private:
  alignas(kCacheLineBytes) std::atomic<uint64_t> batch_ = 0;
  uint64_t own_ = 0;
};

/// Blocks of memory in size classes, used by the owner thread alone.
///
/// Why a block that is re-used is not seen by a worker: the owner clears the pointer to it, then
/// reads batch(); a worker writes enter(), then reads pointers; all four are sequentially
/// consistent. So if the owner reads a batch that is over or none, every later batch of that worker
/// finds the pointer cleared. If it reads one that is under way, it waits until that number has
/// changed; the change happens after all that the worker did in the batch.
class ArrivalMemory {
 public:
  static constexpr size_t kLargestBlockBytes = size_t{4} << 20;

  /// The presences outlive this object.
  explicit ArrivalMemory(std::vector<const WorkerPresence*> presences)
      : presences_(std::move(presences)), batches_(presences_.size()) {}

  struct Block {
    std::byte* bytes = nullptr;  ///< aligned to a cache line, contents undefined
    uint8_t size_class = 0;
  };

  /// Of at least `bytes`. The cost does not depend on `bytes`, nor on other blocks.
  Block allocate(size_t bytes) {
    LONGHAUL_CHECK(bytes >= 1 && bytes <= kLargestBlockBytes);
    const auto size_class = static_cast<uint8_t>(std::bit_width((bytes - 1) / kCacheLineBytes));
    auto& free = free_[size_class];
    if (free.empty()) reclaim();
    if (free.empty()) return {carve(kCacheLineBytes << size_class), size_class};
    std::byte* const block = free.back();
    free.pop_back();
    return {block, size_class};
  }

  /// The last pointer to the block must have been cleared, sequentially consistently. Workers that
  /// are inside a batch may go on using the block until its end.
  void retire(Block block) { retired_.push_back(block); }

 private:
  static constexpr size_t kSlabBytes = size_t{256} << 10;
  static constexpr size_t kSizeClasses =
      std::bit_width(kLargestBlockBytes / kCacheLineBytes - 1) + 1;

  /// Frees what no worker can hold any more. Retired blocks wait in two groups, so that a group
  /// needs one look at each worker, however many blocks are in it.
  void reclaim() {
    while (true) {
      for (; passed_ < presences_.size(); ++passed_) {
        const uint64_t batch = batches_[passed_];
        if (WorkerPresence::is_inside(batch) && presences_[passed_]->batch() == batch) return;
      }
      for (const Block block : waiting_) free_[block.size_class].push_back(block.bytes);
      waiting_.clear();
      if (retired_.empty()) return;
      waiting_.swap(retired_);
      for (size_t i = 0; i < presences_.size(); ++i) batches_[i] = presences_[i]->batch();
      passed_ = 0;
    }
  }

  std::byte* carve(size_t bytes) {
    if (bytes > kSlabBytes / 4) return slab(bytes);
    if (bytes > slab_left_.size()) slab_left_ = {slab(kSlabBytes), kSlabBytes};
    std::byte* const block = slab_left_.data();
    slab_left_ = slab_left_.subspan(bytes);
    return block;
  }

  std::byte* slab(size_t bytes) {
    slabs_.emplace_back(
        static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kCacheLineBytes})));
    return slabs_.back().get();
  }

  struct Delete {
    void operator()(std::byte* slab) const {
      ::operator delete (slab, std::align_val_t{kCacheLineBytes});
    }
  };

  std::vector<const WorkerPresence*> presences_;
  std::vector<Block> retired_;     ///< since batches_ was read
  std::vector<Block> waiting_;     ///< before batches_ was read
  std::vector<uint64_t> batches_;  ///< of each worker
  size_t passed_ = 0;              ///< workers that have left that batch
  std::array<std::vector<std::byte*>, kSizeClasses> free_;
  std::span<std::byte> slab_left_;
  std::vector<std::unique_ptr<std::byte, Delete>> slabs_;
};

}  // namespace longhaul
