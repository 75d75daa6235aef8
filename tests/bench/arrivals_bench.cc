/// The concurrent receive path: from arrays of receive completions to published chunk bits.

#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <bit>
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
      : table_(table),
        chunks_(kMessagePackets / chunk_packets),
        missing_(kMessages),
        armings_(kMessages) {
    for (uint32_t message = 0; message < kMessages; ++message) arm(message);
  }

  size_t drain() {
    return table_.drain([this](const FreshPackets& fresh) {
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
  /// How often the message was armed, for workers that must not deliver earlier.
  uint32_t armings(uint32_t message) const {
    return armings_[message].load(std::memory_order_acquire);
  }
  bool correct() const { return wrong_ == 0; }

 private:
  void arm(uint32_t message) {
    table_.arm(slot_of(message), kMessagePackets);
    missing_[message] = kMessagePackets;
    // One writer: no need for a locked instruction.
    const uint32_t armings = armings_[message].load(std::memory_order_relaxed);
    armings_[message].store(armings + 1, std::memory_order_release);
  }
  ArrivalTable& table_;
  uint32_t chunks_;
  std::vector<uint32_t> missing_;
  std::vector<std::atomic<uint32_t>> armings_;
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

/// Several channels -------------------------------------------------------------------------------

constexpr uint32_t kLaps = 16;  // armings of each message in one run: 8 million packets

/// A worker and its completion queue.
class Channel {
 public:
  Channel(ArrivalTable& table, const Turn& turn, uint32_t worker)
      : table_(table), turn_(turn), worker_(worker) {
    batch_.fill(completion_of(0, 0));
  }

  /// Delivers this channel's chunks of every message, as soon as the message is armed.
  void run(uint32_t chunk_packets, uint32_t channels, uint32_t first_lap) {
    for (uint32_t lap = first_lap; lap < first_lap + kLaps; ++lap) {
      for (uint32_t message = 0; message < kMessages; ++message) {
        while (turn_.armings(message) <= lap) std::this_thread::yield();
        for (uint32_t first = 0, chunk = 0; first < kMessagePackets; first += chunk_packets) {
          if (chunk++ % channels != worker_) continue;
          for (uint32_t packet = first; packet < first + chunk_packets; ++packet) {
            deliver(slot_of(message), packet);
          }
        }
      }
    }
    merge();
  }

 private:
  void deliver(SlotId id, uint32_t packet) {
    ReceiveCompletion& completion = batch_[filled_];
    completion.wr_id = id.generation;
    completion.imm_data = swap_network_order(Immediate{id.slot, packet, 0}.encode());
    if (++filled_ == kBatch) merge();
  }

  void merge() {
    std::span<const ReceiveCompletion> rest(batch_.data(), filled_);
    while (true) {
      rest = rest.subspan(table_.merge(worker_, {}, rest));
      if (rest.empty()) break;
      std::this_thread::yield();
    }
    for (uint32_t i = 0; i < kGenerations; ++i)
      benchmark::DoNotOptimize(table_.take_consumed(worker_, i));
    filled_ = 0;
  }

  ArrivalTable& table_;
  const Turn& turn_;
  uint32_t worker_;
  std::array<ReceiveCompletion, kBatch> batch_;
  size_t filled_ = 0;
};

/// Worker threads, to which the chunks of all messages are dealt in turn, and the owner's thread;
/// wall-clock time. Timed beside merging and draining: each worker first writes into
/// its batches of 64 completions what differs from one to the next, in place of ibv_poll_cq.
void channels(benchmark::State& state) {
  const auto chunk_packets = static_cast<uint32_t>(state.range(0));
  const auto workers = static_cast<uint32_t>(state.range(1));
  ArrivalTable table(kGenerations, chunk_packets, workers);
  Turn turn(table, chunk_packets);
  uint32_t lap = 0;
  for (auto _ : state) {
    std::vector<std::thread> threads;
    for (uint32_t worker = 0; worker < workers; ++worker) {
      threads.emplace_back(
          [&, worker, lap] { Channel(table, turn, worker).run(chunk_packets, workers, lap); });
    }
    lap += kLaps;
    while (turn.completed() < uint64_t{lap} * kMessages)
      if (turn.drain() == 0) std::this_thread::yield();
    for (auto& thread : threads) thread.join();
  }
  ArrivalCounters expected;
  expected.fresh = uint64_t{lap} * kMessages * kMessagePackets;
  if (!turn.correct() || table.counters() != expected) state.SkipWithError("packets were lost");
  state.counters["packets/s"] =
      benchmark::Counter(static_cast<double>(expected.fresh), benchmark::Counter::kIsRate);
}
BENCHMARK(channels)
    ->ArgNames({"chunk", "workers"})
    ->ArgsProduct({{16, 64}, {1, 2, 8}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// Arming and releasing a message of 16 packets in a table that has, and has had, messages of the
/// size in the argument.
void arm_and_release(benchmark::State& state) {
  const auto packets = static_cast<uint32_t>(state.range(0));
  ArrivalTable table(kGenerations, 1, 8);
  for (uint16_t slot = 0; slot < 200; ++slot) table.arm({1, slot}, packets);
  for (uint16_t slot = 0; slot < 100; ++slot) table.release({1, slot});
  // As many small ones to be re-used in either case.
  for (uint16_t slot = 0; slot < 100; ++slot) table.arm({0, slot}, 16);
  for (uint16_t slot = 0; slot < 100; ++slot) table.release({0, slot});
  uint16_t slot = 0;
  for (auto _ : state) {
    table.arm({0, slot}, 16);
    table.release({0, slot});
    slot = (slot + 1) % kSlotsPerGeneration;
  }
}
BENCHMARK(arm_and_release)->ArgName("others")->Arg(16)->Arg(kMaxMessagePackets);

}  // namespace
}  // namespace longhaul
