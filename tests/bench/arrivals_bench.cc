/// The concurrent receive path: from arrays of receive completions to published chunk bits.

#include <benchmark/benchmark.h>

#include <bit>
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

#include "core/sdr/arrival_table.h"

namespace longhaul {
namespace {

constexpr uint32_t kGenerations = 2;
constexpr uint32_t kMessages = kGenerations * kSlotsPerGeneration;  // 2,048 live ones
constexpr uint32_t kMessagePackets = 256;                           // 1 MiB at 4 KiB
constexpr size_t kBatch = 64;                                       // completions of one poll
constexpr size_t kQueueEntries = 8192;                              // of a completion queue
constexpr size_t kBatchesPerTurn = 4;

/// Consecutive messages are on different queue pairs.
SlotId slot_of(uint32_t message) {
  return {static_cast<uint8_t>(message % kGenerations),
          static_cast<uint16_t>(message / kGenerations)};
}
uint32_t message_of(SlotId id) { return id.slot * kGenerations + id.generation; }

ReceiveCompletion completion_of(uint32_t message, uint32_t packet) {
  const SlotId id = slot_of(message);
  ReceiveCompletion completion;
  completion.wr_id = id.generation;
  completion.opcode = kReceiveWithImmediate;
  completion.byte_len = 4096;
  completion.imm_data = swap_network_order(
      Immediate{id.slot, packet, Immediate::fragment_of(0x1234'5678, packet)}.encode());
  return completion;
}

/// What the turn does: it hears of fresh packets, and re-arms a message that is complete once it
/// has seen that all its chunks are published.
class Turn {
 public:
  Turn(ArrivalTable& table, uint32_t chunk_packets)
      : table_(table), chunks_(kMessagePackets / chunk_packets), missing_(kMessages) {
    for (uint32_t message = 0; message < kMessages; ++message) arm(message);
  }

  void drain() {
    table_.drain([this](const FreshPackets& fresh) {
      const uint32_t message = message_of(fresh.id);
      missing_[message] -= static_cast<uint32_t>(std::popcount(fresh.bits));
      if (missing_[message] != 0) return;
      ++completed_;
      uint32_t published = 0;
      for (const uint64_t& word : table_.chunk_words(fresh.id))
        published += static_cast<uint32_t>(std::popcount(load_chunk_word(word)));
      if (published != chunks_) ++wrong_;
      table_.release(fresh.id);
      arm(message);
    });
  }

  uint64_t completed() const { return completed_; }
  bool correct() const { return wrong_ == 0; }

 private:
  void arm(uint32_t message) {
    table_.arm(slot_of(message), kMessagePackets);
    missing_[message] = kMessagePackets;
  }
  ArrivalTable& table_;
  uint32_t chunks_;
  std::vector<uint32_t> missing_;
  uint64_t completed_ = 0;
  uint64_t wrong_ = 0;
};

int64_t cpu_time_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

enum class Order { in_order, round_robin };

/// One worker and the turn on one core. Timed: reading 8,192 completions (384 KiB, more than L1
/// holds) in batches of 64, merging, counting what is to be posted again, and after every fourth
/// batch draining the news, checking the chunk bits of complete messages, releasing and arming
/// these again. Not timed: writing the next 8,192 completions into the same memory, which a NIC and
/// ibv_poll_cq would do.
void arrivals(benchmark::State& state, Order order) {
  const auto chunk_packets = static_cast<uint32_t>(state.range(0));
  ArrivalTable table(kGenerations, chunk_packets, 1);
  Turn turn(table, chunk_packets);
  std::vector<ReceiveCompletion> queue(kQueueEntries);
  uint64_t next = 0;
  uint64_t packets = 0;
  uint64_t posted = 0;
  for (auto _ : state) {
    for (auto& completion : queue) {
      const bool in_order = order == Order::in_order;
      const uint64_t message = (in_order ? next / kMessagePackets : next) % kMessages;
      const uint64_t packet = (in_order ? next : next / kMessages) % kMessagePackets;
      completion = completion_of(static_cast<uint32_t>(message), static_cast<uint32_t>(packet));
      ++next;
    }
    const int64_t begin_ns = cpu_time_ns();
    for (size_t at = 0; at < kQueueEntries; at += kBatch) {
      packets += table.merge(0, {static_cast<int64_t>(packets)}, {queue.data() + at, kBatch});
      for (uint32_t i = 0; i < kGenerations; ++i) posted += table.take_consumed(0, i);
      if (at / kBatch % kBatchesPerTurn == kBatchesPerTurn - 1) turn.drain();
    }
    state.SetIterationTime(static_cast<double>(cpu_time_ns() - begin_ns) * 1e-9);
  }
  ArrivalCounters expected;
  expected.fresh = next;
  if (!turn.correct() || posted != next || table.counters() != expected)
    state.SkipWithError("packets were lost");
  state.counters["packets/s"] =
      benchmark::Counter(static_cast<double>(packets), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(arrivals, in_order, Order::in_order)
    ->ArgName("chunk")
    ->Arg(1)
    ->Arg(4)
    ->Arg(16)
    ->Arg(64)
    ->UseManualTime();
BENCHMARK_CAPTURE(arrivals, round_robin, Order::round_robin)
    ->ArgName("chunk")
    ->Arg(1)
    ->Arg(4)
    ->Arg(16)
    ->Arg(64)
    ->UseManualTime();

}  // namespace
}  // namespace longhaul
