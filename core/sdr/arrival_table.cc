#include "core/sdr/arrival_table.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace longhaul {
namespace {

constexpr size_t kPartCompletions = 64;

size_t words_for(uint32_t bits) { return (size_t{bits} + 63) / 64; }

std::vector<const WorkerPresence*> presences_of(const auto& workers) {
  std::vector<const WorkerPresence*> presences;
  presences.reserve(workers.size());
  for (const auto& worker : workers) presences.push_back(&worker->presence);
  return presences;
}

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

ArrivalTable::ArrivalTable(uint32_t generations, uint32_t chunk_packets, uint32_t workers,
                           uint32_t news_capacity)
    : generations_(generations),
      chunk_packets_(chunk_packets),
      stamps_(size_t{generations} * kSlotsPerGeneration),
      messages_(stamps_.size()),
      workers_([&] {
        std::vector<std::unique_ptr<Worker>> made(workers);
        for (auto& worker : made) worker = std::make_unique<Worker>(news_capacity);
        return made;
      }()),
      memory_(presences_of(workers_)) {
  LONGHAUL_CHECK(generations >= 1 && generations <= kMaxGenerations);
  LONGHAUL_CHECK(chunk_packets >= 1);
  LONGHAUL_CHECK(workers >= 1 && workers <= kMaxArrivalWorkers);
}

void ArrivalTable::arm(SlotId id, uint32_t packets) {
  const size_t index = index_of(id);
  LONGHAUL_CHECK(stamps_[index] == 0 && packets <= kMaxMessagePackets);
  const uint32_t chunks = chunks_of(packets);
  // Users poll chunk words: on lines of their own, lest that slow down the merging of packets.
  constexpr size_t kLineWords = kCacheLineBytes / 8;
  constexpr size_t kHeadWords = sizeof(Message) / 8;
  const size_t chunks_at =
      (kHeadWords + words_for(packets) + kLineWords - 1) / kLineWords * kLineWords - kHeadWords;
  const size_t chunk_words = words_for(chunks);
  const size_t counts = words_hold_whole_chunks() ? 0 : chunks;
  const size_t bytes = sizeof(Message) + (chunks_at + chunk_words) * 8 + counts * 4;

  const auto block = memory_.allocate(bytes);
  if (++last_stamp_ == 0) ++last_stamp_;
  auto* const message = new (block.bytes)
      Message{packets, last_stamp_, static_cast<uint32_t>(chunks_at), block.size_class};
  std::fill_n(message->packet_words(), words_for(packets), 0);
  std::fill_n(message->chunk_words(), chunk_words, 0);
  if (counts != 0) {
    auto* const missing = reinterpret_cast<uint32_t*>(message->chunk_words() + chunk_words);
    std::fill_n(missing, chunks, chunk_packets_);
    missing[chunks - 1] = packets - (chunks - 1) * chunk_packets_;
  }
  stamps_[index] = last_stamp_;
  messages_[index].store(message, std::memory_order_seq_cst);
}

void ArrivalTable::release(SlotId id) {
  const size_t index = index_of(id);
  LONGHAUL_CHECK(stamps_[index] != 0);
  stamps_[index] = 0;
  Message* const message = messages_[index].load(std::memory_order_relaxed);
  messages_[index].store(nullptr, std::memory_order_seq_cst);
  memory_.retire({reinterpret_cast<std::byte*>(message), message->size_class});
}

std::span<const uint64_t> ArrivalTable::chunk_words(SlotId id) const {
  const size_t index = index_of(id);
  LONGHAUL_CHECK(stamps_[index] != 0);
  Message* const message = messages_[index].load(std::memory_order_relaxed);
  return {message->chunk_words(), words_for(chunks_of(message->packets))};
}

ArrivalCounters ArrivalTable::counters(uint32_t worker) const {
  LONGHAUL_CHECK(worker < workers_.size());
  const auto& values = workers_[worker]->counters.values;
  const auto value = [&](size_t i) { return values[i].load(std::memory_order_relaxed); };
  return {value(0), value(1), value(2), value(3), value(4), value(5), value(6)};
}

ArrivalCounters ArrivalTable::counters() const {
  ArrivalCounters sum;
  for (uint32_t worker = 0; worker < workers_.size(); ++worker) {
    const ArrivalCounters one = counters(worker);
    sum.fresh += one.fresh;
    sum.duplicate += one.duplicate;
    sum.late += one.late;
    sum.beyond_message += one.beyond_message;
    sum.error += one.error;
    sum.unexpected += one.unexpected;
    sum.unknown_generation += one.unknown_generation;
  }
  return sum;
}

uint32_t ArrivalTable::take_consumed(uint32_t worker, uint32_t generation) {
  LONGHAUL_CHECK(worker < workers_.size() && generation < generations_);
  return std::exchange(workers_[worker]->consumed[generation], 0);
}

/// Merging ----------------------------------------------------------------------------------------

/// Consecutive completions of one bitmap word.
struct ArrivalTable::WordArrivals {
  Message* message;
  uint64_t bits;
  uint32_t place;
  uint32_t user_immediate;
  uint16_t first_completion;
  uint16_t completions;
};

/// One call of merge(). It goes through completions in parts: first all words of a part are found
/// and asked for, then they are changed, so that cache misses overlap.
class ArrivalTable::Merge {
 public:
  Merge(ArrivalTable& table, Worker& worker, Instant now)
      : table_(table), worker_(worker), now_(now) {
    worker_.presence.enter();
  }
  ~Merge() {
    auto& values = worker_.counters.values;
    add(values[0], tally_.fresh);
    add(values[1], tally_.duplicate);
    add(values[2], tally_.late);
    if (rare_) {
      add(values[3], tally_.beyond_message);
      add(values[4], tally_.error);
      add(values[5], tally_.unexpected);
      add(values[6], tally_.unknown_generation);
    }
    worker_.presence.leave();
  }
  Merge(const Merge&) = delete;
  Merge& operator=(const Merge&) = delete;

  /// At most kPartCompletions, and room for as much news.
  template <bool Shared>
  void part(std::span<const ReceiveCompletion> completions) {
    std::array<WordArrivals, kPartCompletions> words;
    const size_t count = gather(completions, words.data());
    size_t news = 0;
    for (size_t i = 0; i < count; ++i) {
      if (apply<Shared>(words[i], completions, worker_.news.item_ahead(news))) ++news;
    }
    if (news != 0) worker_.news.publish(news);
  }

 private:
  bool acceptable(const ReceiveCompletion& completion) const {
    return (completion.status | (completion.opcode ^ kReceiveWithImmediate)) ==
               kCompletionSuccess &&
           completion.wr_id < table_.generations_;
  }
  static uint32_t place_of(uint64_t generation, uint32_t immediate) {
    return static_cast<uint32_t>(generation) << kSlotWordBits |
           immediate >> (32 - kSlotWordBits);
  }

  size_t gather(std::span<const ReceiveCompletion> completions, WordArrivals* words) {
    size_t count = 0;
    for (size_t i = 0; i < completions.size();) {
      if (!acceptable(completions[i])) [[unlikely]] {
        refuse(completions[i++]);
        continue;
      }
      const uint64_t generation = completions[i].wr_id;
      uint32_t immediate = swap_network_order(completions[i].imm_data);
      const uint32_t place = place_of(generation, immediate);
      const size_t first = i;
      uint64_t bits = 0;
      uint32_t user_immediate = 0;
      do {
        const auto [slot, offset, fragment] = Immediate::decode(immediate);
        bits |= uint64_t{1} << offset % 64;
        user_immediate |= fragment << Immediate::shift_of(offset);
        if (++i == completions.size()) break;
        immediate = swap_network_order(completions[i].imm_data);
      } while (acceptable(completions[i]) && place_of(completions[i].wr_id, immediate) == place);

      worker_.consumed[generation] += static_cast<uint32_t>(i - first);
      Message* const message =
          table_.messages_[place >> kWordBits].load(std::memory_order_seq_cst);
      prefetch(message, place % (1u << kWordBits));
      words[count++] = {message,        bits,
                        place,          user_immediate,
                        static_cast<uint16_t>(first), static_cast<uint16_t>(i - first)};
    }
    return count;
  }

  static void prefetch(Message* message, uint32_t word) {
    const auto address = reinterpret_cast<uintptr_t>(message);
    __builtin_prefetch(message, 1);
    __builtin_prefetch(reinterpret_cast<void*>(address + sizeof(Message) + size_t{word} * 8), 1);
  }

  void refuse(const ReceiveCompletion& completion) {
    rare_ = true;
    if (completion.wr_id >= table_.generations_) {
      ++tally_.unknown_generation;
      return;
    }
    ++worker_.consumed[completion.wr_id];
    ++(completion.status != kCompletionSuccess ? tally_.error : tally_.unexpected);
  }

  /// True if there is news, which is then in `news`.
  template <bool Shared>
  bool apply(const WordArrivals& word, std::span<const ReceiveCompletion> completions,
             News& news) {
    Message* const message = word.message;
    if (message == nullptr) [[unlikely]] {
      tally_.late += word.completions;
      return false;
    }
    uint64_t bits = word.bits;
    uint64_t count = word.completions;
    const uint32_t word_index = word.place % (1u << kWordBits);
    const uint32_t first_packet = word_index * 64;
    if (first_packet + static_cast<uint32_t>(std::bit_width(bits)) > message->packets)
        [[unlikely]] {
      count -= count_beyond(word, completions);
      if (count == 0) return false;
      bits &= ~uint64_t{0} >> (64 - (message->packets - first_packet));
    }
    const uint64_t before = set_bits<Shared>(message->packet_words()[word_index], bits);
    const uint64_t fresh = bits & ~before;
    const auto fresh_count = static_cast<uint64_t>(std::popcount(fresh));
    tally_.fresh += fresh_count;
    tally_.duplicate += count - fresh_count;
    if (fresh == 0) return false;

    if (table_.words_hold_whole_chunks()) {
      publish_within_word<Shared>(*message, word_index, fresh, before | bits);
    } else {
      publish_counted<Shared>(*message, first_packet, fresh);
    }
    news = {fresh, now_, word.place, message->stamp, word.user_immediate};
    return true;
  }

  uint64_t count_beyond(const WordArrivals& word, std::span<const ReceiveCompletion> completions) {
    uint64_t beyond = 0;
    for (const auto& completion :
         completions.subspan(word.first_completion, word.completions)) {
      const uint32_t immediate = swap_network_order(completion.imm_data);
      beyond += Immediate::decode(immediate).offset >= word.message->packets;
    }
    rare_ = true;
    tally_.beyond_message += beyond;
    return beyond;
  }

  // The order of memory. A packet is in memory before its completion is seen, and merged after.
  // Every worker that takes part in a chunk makes acq_rel read-modify-writes of the same word (or
  // count), one after the other; the last one sees that the chunk is complete, and it alone does,
  // so it happens after what the others had seen. It then publishes with release, and whoever reads
  // the bit with acquire comes after all of them.

  /// A word holds whole chunks. `now_set` is the packet word as this worker has left it.
  template <bool Shared>
  void publish_within_word(Message& message, uint32_t word_index, uint64_t fresh,
                           uint64_t now_set) {
    const uint32_t chunk_packets = table_.chunk_packets_;
    if (chunk_packets == 1) {
      publish_bits<Shared>(message.chunk_words()[word_index], fresh);
      return;
    }
    const auto shift = static_cast<unsigned>(std::countr_zero(chunk_packets));
    const uint64_t chunk_mask = ~uint64_t{0} >> (64 - chunk_packets);
    // Bits behind the last packet never arrive; they must not keep a short last chunk waiting.
    const uint32_t left = message.packets - word_index * 64;
    if (left < 64) now_set |= ~uint64_t{0} << left;
    uint64_t complete = 0;
    do {
      const unsigned chunk = static_cast<unsigned>(std::countr_zero(fresh)) >> shift;
      const uint64_t mask = chunk_mask << (chunk << shift);
      if ((now_set & mask) == mask) complete |= uint64_t{1} << chunk;
      fresh &= ~mask;
    } while (fresh != 0);
    if (complete == 0) return;
    const uint32_t first_chunk = word_index << (6 - shift);
    publish_bits<Shared>(message.chunk_words()[first_chunk / 64], complete << first_chunk % 64);
  }

  /// Chunks lie across words: each has a count of the packets that it lacks.
  template <bool Shared>
  void publish_counted(Message& message, uint32_t first_packet, uint64_t fresh) {
    const uint32_t chunk_packets = table_.chunk_packets_;
    uint64_t* const words = message.chunk_words();
    auto* const missing =
        reinterpret_cast<uint32_t*>(words + words_for(table_.chunks_of(message.packets)));
    while (fresh != 0) {
      const uint32_t packet = first_packet + static_cast<uint32_t>(std::countr_zero(fresh));
      const uint32_t chunk = packet / chunk_packets;
      const uint32_t in_word = (chunk + 1) * chunk_packets - first_packet;  // end of the chunk
      const uint64_t mask = in_word >= 64 ? ~uint64_t{0} : (uint64_t{1} << in_word) - 1;
      const auto count = static_cast<uint32_t>(std::popcount(fresh & mask));
      if (subtract<Shared>(missing[chunk], count) == 0)
        publish_bits<Shared>(words[chunk / 64], uint64_t{1} << chunk % 64);
      fresh &= ~mask;
    }
  }

  ArrivalTable& table_;
  Worker& worker_;
  Instant now_;
  ArrivalCounters tally_;
  bool rare_ = false;  ///< one of the counters that mostly stay has changed
};

size_t ArrivalTable::merge(uint32_t worker_number, Instant now,
                           std::span<const ReceiveCompletion> completions) {
  LONGHAUL_CHECK(worker_number < workers_.size());
  Worker& worker = *workers_[worker_number];
  Merge merge(*this, worker, now);
  size_t taken = 0;
  while (taken < completions.size()) {
    const size_t wanted = std::min(completions.size() - taken, kPartCompletions);
    const size_t count = std::min(wanted, worker.news.room(wanted));
    if (count == 0) break;
    const auto part = completions.subspan(taken, count);
    if (workers_.size() == 1) {
      merge.part<false>(part);
    } else {
      merge.part<true>(part);
    }
    taken += count;
  }
  return taken;
}

}  // namespace longhaul
