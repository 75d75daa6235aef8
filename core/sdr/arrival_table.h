#pragma once

/// The concurrent receive path: completions of several channels set packet bits, packets feed
/// chunks, chunks are published at once, and the turn hears of what is new.
///
/// One table per queue pair. The *owner* thread arms and releases messages and drains news. Each
/// *worker* thread merges the completions of its own completion queue. Nothing blocks, and no value
/// in a completion can do harm: what does not fit is counted and ignored.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/time.h"
#include "core/sdr/arrival_memory.h"
#include "core/sdr/receive_completion.h"
#include "core/sdr/single_producer_ring.h"
#include "core/sdr/slot_table.h"
#include "core/wire/immediate.h"

namespace longhaul {

inline constexpr uint32_t kMaxArrivalWorkers = 64;

/// News for the turn: packets of one bitmap word that have arrived and were not there before.
struct FreshPackets {
  SlotId id;
  uint32_t first_packet = 0;  ///< a multiple of 64; what bit 0 stands for
  uint64_t bits = 0;
  uint32_t user_immediate = 0;  ///< valid at the places of the packets, see Immediate::shift_of
  Instant last_arrival{};
  uint8_t channel = 0;  ///< the worker
};

/// What became of completions: each is in exactly one of these.
struct ArrivalCounters {
  uint64_t fresh = 0;
  uint64_t duplicate = 0;
  uint64_t late = 0;                ///< the slot is not armed
  uint64_t beyond_message = 0;      ///< the packet offset is
  uint64_t error = 0;               ///< status is not success
  uint64_t unexpected = 0;          ///< not a write with immediate
  uint64_t unknown_generation = 0;  ///< wr_id is none of ours; not in take_consumed() either
  bool operator==(const ArrivalCounters&) const = default;
};

class ArrivalTable {
 public:
  /// 1 to 16 generations; `chunk_packets` >= 1: packets that one chunk bit stands for, the last
  /// chunk of a message may be shorter; 1 to 64 workers, each with room for `news_capacity` (a
  /// power of two) entries of news.
  ArrivalTable(uint32_t generations, uint32_t chunk_packets, uint32_t workers,
               uint32_t news_capacity = 4096);

  /// Owner thread --------------------------------------------------------------------------------

  /// The slot is free; at most kMaxMessagePackets. Costs what this many packets cost, whatever
  /// sizes were armed before.
  void arm(SlotId id, uint32_t packets);

  /// The slot is armed. Its news that has not been drained is dropped.
  void release(SlotId id);

  bool armed(SlotId id) const { return stamps_[index_of(id)] != 0; }

  /// One bit a chunk, packed, least significant first: set when every packet of the chunk is in
  /// memory. Any thread may read it, by load_chunk_word(), until the slot is released.
  std::span<const uint64_t> chunk_words(SlotId id) const;

  /// Publishes a chunk that the packets alone never complete: the one in which a message shorter
  /// than its buffer ends. Not with a single worker, which writes chunk words as their only writer.
  void publish_chunk(SlotId id, uint32_t chunk);

  /// Calls visit(const FreshPackets&) for all news so far, and returns how many there were. A fresh
  /// packet is told once per arming. `visit` may arm and release, but not drain.
  template <class Visit>
  size_t drain(Visit&& visit);

  /// Any thread; numbers of a worker that is merging lag behind by at most that batch.
  ArrivalCounters counters() const;
  ArrivalCounters counters(uint32_t worker) const;

  /// Worker threads, each with its own number ----------------------------------------------------

  /// Takes completions in order and returns how many: fewer than all only when there is no room for
  /// more news. The caller then comes again with the rest after a drain. `now` is their arrival.
  size_t merge(uint32_t worker, Instant now, std::span<const ReceiveCompletion> completions);

  /// Receives consumed since the last call on the queue pair of this generation, which must be
  /// posted again: every completion, whatever became of it.
  uint32_t take_consumed(uint32_t worker, uint32_t generation);

 private:
  /// Head of a block of memory. Behind it: the packets' words; from `chunks_at` on the chunks'
  /// words; then, unless a word holds whole chunks, how many packets each chunk still lacks.
  struct Message {
    uint64_t tag = 0;            ///< the stamp of this arming, 32 bits up
    uint32_t partial_place = 0;  ///< of the first word that is not wholly within the message
    uint32_t packets = 0;
    uint32_t chunks_at = 0;  ///< in words from packet_words()
    uint8_t size_class = 0;

    uint64_t* packet_words() { return reinterpret_cast<uint64_t*>(this + 1); }
    uint64_t* chunk_words() { return packet_words() + chunks_at; }
  };
  static_assert(sizeof(Message) == 24);

  /// A word's place: generation, slot and word within the message; the slot and the word lie in the
  /// immediate next to each other.
  static constexpr unsigned kWordBits = Immediate::kOffsetBits - 6;
  static constexpr unsigned kSlotWordBits = Immediate::kSlotBits + kWordBits;

  struct News {
    uint64_t bits = 0;
    Instant last_arrival{};
    uint64_t tag = 0;  ///< the message's, with the place of the word in the lower half
    uint32_t user_immediate = 0;
  };

  /// Written by its worker only.
  struct Counters {
    std::array<std::atomic<uint64_t>, 7> values{};
  };

  struct Worker {
    explicit Worker(uint32_t news_capacity) : news(news_capacity) {}
    WorkerPresence presence;
    SingleProducerRing<News> news;
    alignas(kCacheLineBytes) std::array<uint32_t, kMaxGenerations> consumed{};
    Counters counters;
  };

  /// How packets make up chunks.
  struct ChunkLayout {
    enum class Kind : uint8_t {
      single,       ///< one packet each
      within_word,  ///< a packet word holds whole chunks
      counted       ///< chunks lie across words
    };

    explicit ChunkLayout(uint32_t chunk_packets);
    uint32_t chunks_of(uint32_t message_packets) const {
      return message_packets / packets + (message_packets % packets != 0);
    }

    uint32_t packets;
    Kind kind;
    unsigned shift = 0;  ///< within_word: log2 of `packets`
    uint64_t mask = 0;   ///< within_word: a chunk's packets in a word
  };

  class Merge;

  static size_t words_for(uint32_t bits) { return (size_t{bits} + 63) / 64; }
  size_t index_of(SlotId id) const {
    LONGHAUL_CHECK(id.generation < generations_ && id.slot < kSlotsPerGeneration);
    return size_t{id.generation} * kSlotsPerGeneration + id.slot;
  }

  uint32_t generations_;
  ChunkLayout layout_;
  uint32_t last_stamp_ = 0;
  std::vector<uint32_t> stamps_;                 ///< by slot, of the arming; 0: not armed
  std::vector<std::atomic<Message*>> messages_;  ///< by slot, read by workers; null: not armed
  std::vector<std::unique_ptr<Worker>> workers_;
  ArrivalMemory memory_;
};

/// A word of ArrivalTable::chunk_words(). All packets of a chunk whose bit is set are in memory for
/// whoever reads the bit so.
inline uint64_t load_chunk_word(const uint64_t& word) {
  // An atomic_ref to const does not exist before C++26.
  return std::atomic_ref(const_cast<uint64_t&>(word)).load(std::memory_order_acquire);
}

template <class Visit>
size_t ArrivalTable::drain(Visit&& visit) {
  size_t told = 0;
  for (size_t worker = 0; worker < workers_.size(); ++worker) {
    workers_[worker]->news.consume([&](const News& news) {
      const auto place = static_cast<uint32_t>(news.tag);
      const uint32_t index = place >> kWordBits;
      if (stamps_[index] != news.tag >> 32) return;
      ++told;
      visit(FreshPackets{SlotId{static_cast<uint8_t>(index / kSlotsPerGeneration),
                                static_cast<uint16_t>(index % kSlotsPerGeneration)},
                         place % (1u << kWordBits) * 64, news.bits, news.user_immediate,
                         news.last_arrival, static_cast<uint8_t>(worker)});
    });
  }
  return told;
}

}  // namespace longhaul
