#include <algorithm>
#include <array>
#include <bit>

#include "core/sdr/arrival_table.h"

namespace longhaul {
namespace {

constexpr size_t kPartCompletions = 64;
constexpr uint32_t kNoPlace = ~0u;  // of no word: generations have too few bits

/// Sets bits in a packet word and returns what it was. A lone worker is the only one that writes
/// packet words while a message is armed, so it needs no locked instruction.
template <bool Shared>
uint64_t set_bits(uint64_t& word, uint64_t bits) {
  std::atomic_ref shared(word);
  if constexpr (Shared) return shared.fetch_or(bits, std::memory_order_acq_rel);
  const uint64_t before = shared.load(std::memory_order_relaxed);
  shared.store(before | bits, std::memory_order_relaxed);
  return before;
}

template <bool Shared>
uint32_t subtract(uint32_t& count, uint32_t amount) {
  std::atomic_ref shared(count);
  if constexpr (Shared) return shared.fetch_sub(amount, std::memory_order_acq_rel) - amount;
  const uint32_t left = shared.load(std::memory_order_relaxed) - amount;
  shared.store(left, std::memory_order_relaxed);
  return left;
}

template <bool Shared>
void publish_bits(uint64_t& word, uint64_t bits) {
  std::atomic_ref shared(word);
  if constexpr (Shared) {
    shared.fetch_or(bits, std::memory_order_release);
  } else {
    shared.store(shared.load(std::memory_order_relaxed) | bits, std::memory_order_release);
  }
}

void add(std::atomic<uint64_t>& counter, uint64_t amount) {
  // One writer: no need for a locked instruction.
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace

/// One call of merge(). Each bitmap word is asked for while the one before it is being worked on,
/// so that cache misses overlap.
class ArrivalTable::Merge {
 public:
  Merge(ArrivalTable& table, Worker& worker, Instant now)
      : table_(table), worker_(worker), now_(now) {
    worker_.presence.enter();
  }
  ~Merge() {
    auto& values = worker_.counters.values;
    add(values[0], fresh_);
    add(values[1], merged_ - refused_ - fresh_ - late_ - beyond_message_);
    add(values[2], late_);
    add(values[3], beyond_message_);
    worker_.presence.leave();
  }
  Merge(const Merge&) = delete;
  Merge& operator=(const Merge&) = delete;

  template <bool Shared, ChunkLayout::Kind Kind>
  size_t run(std::span<const ReceiveCompletion> completions) {
    size_t taken = 0;
    while (taken < completions.size()) {
      const size_t wanted = std::min(completions.size() - taken, kPartCompletions);
      // A completion makes at most one piece of news.
      const std::span<News> room = worker_.news.writable(wanted);
      if (room.empty()) break;
      part<Shared, Kind>(completions.subspan(taken, room.size()), room.data());
      taken += room.size();
    }
    merged_ += taken;
    return taken;
  }

 private:
  static bool acceptable(const ReceiveCompletion& completion, uint32_t generations) {
    return (completion.status | (completion.opcode ^ kReceiveWithImmediate)) ==
               kCompletionSuccess &&
           completion.wr_id < generations;
  }
  static uint32_t place_of(const ReceiveCompletion& completion) {
    return static_cast<uint32_t>(completion.wr_id) << kSlotWordBits |
           swap_network_order(completion.imm_data) >> (32 - kSlotWordBits);
  }
  static uint32_t word_of(uint32_t place) { return place % (1u << kWordBits); }

  /// Consecutive completions of one bitmap word.
  struct Run {
    uint32_t place;
    Message* message;
    uint64_t* packet_word;  ///< of the message, unless that is null or shorter
    uint64_t bits;
    uint32_t user_immediate;
    size_t first_completion;
  };

  template <bool Shared, ChunkLayout::Kind Kind>
  void part(std::span<const ReceiveCompletion> completions, News* const room) {
    const ChunkLayout layout = table_.layout_;
    const Instant now = now_;
    News* news = room;
    uint64_t fresh_count = 0;
    Cursor cursor{
        completions, 0, 0, table_.generations_, worker_.consumed.data(), table_.messages_.data()};
    Run run = run_at(cursor, decode_next(cursor));
    while (run.place != kNoPlace) {
      const Run following = extend(run, cursor);
      const uint64_t fresh = merge_run<Shared, Kind>(layout, run, completions);
      if (fresh != 0) {
        fresh_count += static_cast<uint64_t>(std::popcount(fresh));
        // Field by field: of a whole struct GCC makes stores that stall.
        news->bits = fresh;
        news->last_arrival = now;
        news->tag = run.message->tag | run.place;
        news->user_immediate = run.user_immediate;
        ++news;
      }
      run = following;
    }
    fresh_ += fresh_count;
    if (news != room) worker_.news.publish(static_cast<size_t>(news - room));
  }

  /// Where part() is. By value, so that what does not change stays in registers.
  struct Cursor {
    std::span<const ReceiveCompletion> completions;
    size_t next;
    uint32_t immediate;  ///< of the completion before `next`
    uint32_t generations;
    uint32_t* consumed;
    const std::atomic<Message*>* messages;
  };

  /// The place of the next completion that can be used; kNoPlace when there is none.
  uint32_t decode_next(Cursor& cursor) {
    while (cursor.next < cursor.completions.size()) {
      const ReceiveCompletion& completion = cursor.completions[cursor.next++];
      if (!acceptable(completion, cursor.generations)) [[unlikely]] {
        refuse(completion);
        continue;
      }
      ++cursor.consumed[completion.wr_id];
      cursor.immediate = swap_network_order(completion.imm_data);
      return static_cast<uint32_t>(completion.wr_id) << kSlotWordBits |
             cursor.immediate >> (32 - kSlotWordBits);
    }
    return kNoPlace;
  }

  /// Takes in what follows for the same word, and returns the run after it.
  Run extend(Run& run, Cursor& cursor) {
    while (true) {
      const uint32_t place = decode_next(cursor);
      if (place != run.place) return run_at(cursor, place);
      const auto [slot, offset, fragment] = Immediate::decode(cursor.immediate);
      run.bits |= uint64_t{1} << offset % 64;
      run.user_immediate |= fragment << Immediate::shift_of(offset);
    }
  }

  static Run run_at(const Cursor& cursor, uint32_t place) {
    if (place == kNoPlace) [[unlikely]]
      return {kNoPlace, nullptr, nullptr, 0, 0, 0};
    const auto [slot, offset, fragment] = Immediate::decode(cursor.immediate);
    Message* const message = cursor.messages[place >> kWordBits].load(std::memory_order_seq_cst);
    return {place,
            message,
            prefetch(message, word_of(place)),
            uint64_t{1} << offset % 64,
            fragment << Immediate::shift_of(offset),
            cursor.next - 1};
  }

  /// Returns the packets that are new.
  template <bool Shared, ChunkLayout::Kind Kind>
  uint64_t merge_run(ChunkLayout layout, const Run& run,
                     std::span<const ReceiveCompletion> completions) {
    Message* const message = run.message;
    if (message == nullptr) [[unlikely]] {
      late_ += count_same_word(run, completions, 0);
      return 0;
    }
    uint64_t bits = run.bits;
    if (run.place >= message->partial_place) [[unlikely]] {
      beyond_message_ += count_same_word(run, completions, message->packets);
      bits &= bits_before(message->packets, word_of(run.place) * 64);
      if (bits == 0) return 0;
    }
    const uint64_t before = set_bits<Shared>(*run.packet_word, bits);
    const uint64_t fresh = bits & ~before;
    if (fresh != 0)
      publish<Shared, Kind>(layout, *message, word_of(run.place), fresh, before | bits);
    return fresh;
  }

  /// Where the word would be; the message may be shorter. Asking for what is not there does no
  /// harm.
  static uint64_t* prefetch(Message* message, uint32_t word) {
    if (message == nullptr) [[unlikely]]
      return nullptr;
    uint64_t* const packet_word = message->packet_words() + word;
    __builtin_prefetch(packet_word, 1);
    return packet_word;
  }

  void refuse(const ReceiveCompletion& completion) {
    ++refused_;
    auto& values = worker_.counters.values;
    if (completion.wr_id >= table_.generations_) {
      add(values[6], 1);
      return;
    }
    ++worker_.consumed[completion.wr_id];
    add(values[completion.status != kCompletionSuccess ? 4 : 5], 1);
  }

  /// Completions that went into `run` and are for packet `first_packet` of the message or a later
  /// one. Rarely wanted, so it is not kept.
  uint64_t count_same_word(const Run& run, std::span<const ReceiveCompletion> completions,
                           uint32_t first_packet) const {
    uint64_t count = 0;
    for (const auto& completion : completions.subspan(run.first_completion)) {
      if (!acceptable(completion, table_.generations_)) continue;
      if (place_of(completion) != run.place) break;
      const uint32_t immediate = swap_network_order(completion.imm_data);
      count += Immediate::decode(immediate).offset >= first_packet;
    }
    return count;
  }

  /// Bits of a word that starts with packet `first` for packets below `end`.
  static uint64_t bits_before(uint32_t end, uint32_t first) {
    if (end <= first) return 0;
    return end - first >= 64 ? ~uint64_t{0} : (uint64_t{1} << (end - first)) - 1;
  }

  // The order of memory. A packet is in memory before its completion is seen, and merged after.
  // Every worker that takes part in a chunk makes acq_rel read-modify-writes of the same word (or
  // count), one after the other; the last one, and it alone, sees that the chunk is complete, and
  // happens after all that the others had seen. It then publishes with release, and whoever reads
  // the bit with acquire comes after all of them.

  /// `now_set` is the packet word as this worker has left it.
  template <bool Shared, ChunkLayout::Kind Kind>
  static void publish(ChunkLayout layout, Message& message, uint32_t word_index, uint64_t fresh,
                      uint64_t now_set) {
    if constexpr (Kind == ChunkLayout::Kind::single) {
      publish_bits<Shared>(message.chunk_words()[word_index], fresh);
    } else if constexpr (Kind == ChunkLayout::Kind::within_word) {
      publish_within_word<Shared>(layout, message, word_index, fresh, now_set);
    } else {
      publish_counted<Shared>(layout, message, word_index * 64, fresh);
    }
  }

  template <bool Shared>
  static void publish_within_word(ChunkLayout layout, Message& message, uint32_t word_index,
                                  uint64_t fresh, uint64_t now_set) {
    const unsigned shift = layout.shift;
    uint64_t complete = 0;
    do {
      const unsigned chunk = static_cast<unsigned>(std::countr_zero(fresh)) >> shift;
      const uint64_t mask = layout.mask << (chunk << shift);
      if ((now_set & mask) == mask) complete |= uint64_t{1} << chunk;
      fresh &= ~mask;
    } while (fresh != 0);
    if (complete == 0) return;
    const uint32_t first_chunk = word_index << (6 - shift);
    publish_bits<Shared>(message.chunk_words()[first_chunk / 64], complete << first_chunk % 64);
  }

  /// Each chunk has a count of the packets that it lacks.
  template <bool Shared>
  static void publish_counted(ChunkLayout layout, Message& message, uint32_t first_packet,
                              uint64_t fresh) {
    uint64_t* const words = message.chunk_words();
    auto* const missing =
        reinterpret_cast<uint32_t*>(words + words_for(layout.chunks_of(message.packets)));
    while (fresh != 0) {
      const uint32_t packet = first_packet + static_cast<uint32_t>(std::countr_zero(fresh));
      const uint32_t chunk = packet / layout.packets;
      const uint64_t mask = bits_before((chunk + 1) * layout.packets, first_packet);
      const auto count = static_cast<uint32_t>(std::popcount(fresh & mask));
      if (subtract<Shared>(missing[chunk], count) == 0)
        publish_bits<Shared>(words[chunk / 64], uint64_t{1} << chunk % 64);
      fresh &= ~mask;
    }
  }

  ArrivalTable& table_;
  Worker& worker_;
  Instant now_;
  uint64_t merged_ = 0;
  uint64_t refused_ = 0;
  uint64_t fresh_ = 0;
  uint64_t late_ = 0;
  uint64_t beyond_message_ = 0;
};

size_t ArrivalTable::merge(uint32_t worker_number, Instant now,
                           std::span<const ReceiveCompletion> completions) {
  LONGHAUL_CHECK(worker_number < workers_.size());
  Merge batch(*this, *workers_[worker_number], now);
  const bool shared = workers_.size() > 1;
  switch (layout_.kind) {
    case ChunkLayout::Kind::single:
      return shared ? batch.run<true, ChunkLayout::Kind::single>(completions)
                    : batch.run<false, ChunkLayout::Kind::single>(completions);
    case ChunkLayout::Kind::within_word:
      return shared ? batch.run<true, ChunkLayout::Kind::within_word>(completions)
                    : batch.run<false, ChunkLayout::Kind::within_word>(completions);
    case ChunkLayout::Kind::counted:
      return shared ? batch.run<true, ChunkLayout::Kind::counted>(completions)
                    : batch.run<false, ChunkLayout::Kind::counted>(completions);
  }
  return 0;
}

}  // namespace longhaul
