#include "core/sdr/arrival_table.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace longhaul {
namespace {

std::vector<const WorkerPresence*> presences_of(const auto& workers) {
  std::vector<const WorkerPresence*> presences;
  presences.reserve(workers.size());
  for (const auto& worker : workers) presences.push_back(&worker->presence);
  return presences;
}

}  // namespace

ArrivalTable::ChunkLayout::ChunkLayout(uint32_t chunk_packets) : packets(chunk_packets) {
  LONGHAUL_CHECK(packets >= 1);
  kind = packets == 1 ? Kind::single : 64 % packets == 0 ? Kind::within_word : Kind::counted;
  if (kind == Kind::within_word) {
    shift = static_cast<unsigned>(std::countr_zero(packets));
    mask = ~uint64_t{0} >> (64 - packets);
  }
}

ArrivalTable::ArrivalTable(uint32_t generations, uint32_t chunk_packets, uint32_t workers,
                           uint32_t news_capacity)
    : generations_(generations),
      layout_(chunk_packets),
      stamps_(size_t{generations} * kSlotsPerGeneration),
      messages_(stamps_.size()),
      workers_([&] {
        std::vector<std::unique_ptr<Worker>> made(workers);
        for (auto& worker : made) worker = std::make_unique<Worker>(news_capacity);
        return made;
      }()),
      memory_(presences_of(workers_)) {
  LONGHAUL_CHECK(generations >= 1 && generations <= kMaxGenerations);
  LONGHAUL_CHECK(workers >= 1 && workers <= kMaxArrivalWorkers);
}

void ArrivalTable::arm(SlotId id, uint32_t packets) {
  const size_t index = index_of(id);
  LONGHAUL_CHECK(stamps_[index] == 0 && packets <= kMaxMessagePackets);
  const uint32_t chunks = layout_.chunks_of(packets);
  // Users poll chunk words: on lines of their own, lest that slow down the merging of packets.
  constexpr size_t kLineWords = kCacheLineBytes / 8;
  constexpr size_t kHeadWords = sizeof(Message) / 8;
  const size_t chunks_at =
      (kHeadWords + words_for(packets) + kLineWords - 1) / kLineWords * kLineWords - kHeadWords;
  const size_t chunk_words = words_for(chunks);
  const size_t counts = layout_.kind != ChunkLayout::Kind::counted ? 0 : chunks;
  const size_t bytes = sizeof(Message) + (chunks_at + chunk_words) * 8 + counts * 4;

  const auto block = memory_.allocate(bytes);
  if (++last_stamp_ == 0) ++last_stamp_;
  auto* const message = new (block.bytes) Message;
  message->tag = uint64_t{last_stamp_} << 32;
  message->partial_place = static_cast<uint32_t>(index << kWordBits) + packets / 64;
  message->packets = packets;
  message->chunks_at = static_cast<uint32_t>(chunks_at);
  message->size_class = block.size_class;
  std::fill_n(message->packet_words(), words_for(packets), 0);
  // Bits behind the last packet never arrive; they must not keep a short last chunk waiting.
  if (packets % 64 != 0) message->packet_words()[packets / 64] = ~uint64_t{0} << packets % 64;
  std::fill_n(message->chunk_words(), chunk_words, 0);
  if (counts != 0) {
    auto* const missing = reinterpret_cast<uint32_t*>(message->chunk_words() + chunk_words);
    std::fill_n(missing, chunks, layout_.packets);
    missing[chunks - 1] = packets - (chunks - 1) * layout_.packets;
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
  return {message->chunk_words(), words_for(layout_.chunks_of(message->packets))};
}

void ArrivalTable::publish_chunk(SlotId id, uint32_t chunk) {
  const size_t index = index_of(id);
  LONGHAUL_CHECK(workers_.size() > 1 && stamps_[index] != 0);
  Message* const message = messages_[index].load(std::memory_order_relaxed);
  LONGHAUL_CHECK(chunk < layout_.chunks_of(message->packets));
  std::atomic_ref(message->chunk_words()[chunk / 64])
      .fetch_or(uint64_t{1} << chunk % 64, std::memory_order_release);
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

}  // namespace longhaul
