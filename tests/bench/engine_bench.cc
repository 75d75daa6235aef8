/// How fast the engine is: the whole protocol on the simulator, the seam alone, the bitmaps alone.

#include <benchmark/benchmark.h>

#include <numeric>

#include "core/base/rng.h"
#include "core/sdr/receive_bitmap.h"
#include "core/transfer/queue_pair.h"
#include "sim/experiment.h"
#include "tests/support/null_backend.h"

namespace longhaul {
namespace {

/// 8 GiB at 400 Gb/s over 5000 km of fibre, loss 1e-3: sender and receiver engines, bitmaps,
/// control messages, payload tags made, moved, checked and summed.
void full_protocol(benchmark::State& state, const char* policy) {
  sim::PathSpec path;
  path.propagation = Duration::microseconds(24'485);
  path.loss = LossSpec::bernoulli(1e-3);
  path.reverse_loss = path.loss;
  sim::MessageSpec message;
  message.bytes = 8ull << 30;
  message.policy = parse_policy(policy).policy;
  message.payload = sim::Payload::virtual_64;
  uint64_t packets = 0;
  for (auto _ : state) {
    const auto sample = sim::simulate_message(path, message, 1, 0);
    if (sample.outcome != sim::Outcome::delivered) state.SkipWithError(sample.failure.c_str());
    packets += sample.data_packets + sample.retransmitted_packets + sample.parity_packets;
  }
  state.counters["packets/s"] =
      benchmark::Counter(static_cast<double>(packets), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(full_protocol, sr_nack, "sr(nack)")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(full_protocol, sr_rto, "sr(rto=3rtt)")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(full_protocol, ec_32_8, "ec(32,8)")->Unit(benchmark::kMillisecond);

constexpr uint64_t kSeamBytes = 1ull << 30;

struct SeamFixture {
  explicit SeamFixture(uint32_t max_run_packets)
      : backend({4096, max_run_packets, 400'000'000'000, 102, 4096, true}),
        memory(kSeamBytes / 4096 * 8) {
    region = {memory.data(), kSeamBytes, 4096, 8};
    attributes.round_trip = Duration::milliseconds(10);
    attributes.channels = 1;
  }
  test::NullBackend backend;
  std::vector<std::byte> memory;
  MemoryRegion region;
  QueuePairAttributes attributes;
};

void tell(EventBatch& events, const ControlMessage& message) {
  const size_t offset = events.control_bytes.size();
  encode_control(0, message, events.control_bytes);
  events.events.emplace_back(ControlArrived{
      static_cast<uint32_t>(offset), static_cast<uint32_t>(events.control_bytes.size() - offset)});
}

/// One-packet arrivals through the whole receiver: events, slot, bitmaps.
void seam_packet_in(benchmark::State& state) {
  constexpr uint32_t kBatch = 64;
  SeamFixture fixture(1);
  CommandBatch commands;
  EventBatch events;
  uint32_t next = ~0u;
  std::unique_ptr<QueuePair> queue_pair;
  uint64_t packets = 0;
  for (auto _ : state) {
    if (next >= kSeamBytes / 4096 - kBatch) {
      state.PauseTiming();
      queue_pair = std::make_unique<QueuePair>(fixture.attributes, fixture.backend);
      queue_pair->transfer_recv({}, {MemoryHandle{0}, fixture.region, 0, kSeamBytes});
      events.clear();
      tell(events, Begin{MessageRole::data, 0, kSeamBytes, 0, 0, 0, 0});
      queue_pair->turn({}, events, commands);
      next = 0;
      state.ResumeTiming();
    }
    events.clear();
    commands.clear();
    for (uint32_t i = 0; i < kBatch; ++i)
      events.events.emplace_back(PacketsArrived{0, 0, 0, next++, 1, 0, {}, {}});
    queue_pair->turn({1}, events, commands);
    packets += kBatch;
  }
  state.counters["s/packet"] = benchmark::Counter(
      static_cast<double>(packets), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(seam_packet_in);

/// Runs out of the sender, of the length in the argument.
void seam_run_out(benchmark::State& state) {
  SeamFixture fixture(static_cast<uint32_t>(state.range(0)));
  CommandBatch commands;
  EventBatch events;
  std::unique_ptr<QueuePair> queue_pair;
  uint64_t runs = 0;
  uint64_t left = 0;
  for (auto _ : state) {
    if (left < 2000) {
      state.PauseTiming();
      queue_pair = std::make_unique<QueuePair>(fixture.attributes, fixture.backend);
      queue_pair->transfer_send({}, {MemoryHandle{0}, fixture.region, 0, kSeamBytes}, 0);
      events.clear();
      tell(events, ClearToSend{MessageRole::data, 0, 0, 0, 0, kSeamBytes, 0});
      queue_pair->turn({}, events, commands);
      left = kSeamBytes / 4096 - 1000;
      state.ResumeTiming();
    }
    events.clear();
    commands.clear();
    events.events.emplace_back(WritesCompleted{0, 400});
    queue_pair->turn({1}, events, commands);
    left -= 400;
    runs += commands.commands.size();
  }
  state.counters["s/run"] = benchmark::Counter(
      static_cast<double>(runs), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(seam_run_out)->Arg(1)->Arg(16)->Arg(1024);

/// The bitmap engine alone, packet by packet over a 1 GiB message, packets in the given order.
void bitmap_arrivals(benchmark::State& state, bool shuffled) {
  constexpr uint32_t kPackets = kMaxMessagePackets;
  std::vector<uint32_t> order(kPackets);
  std::iota(order.begin(), order.end(), 0u);
  Rng rng(1);
  if (shuffled) {
    for (uint32_t i = kPackets; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  }
  for (auto _ : state) {
    ReceiveBitmap bitmap(kPackets, 16);
    uint64_t fresh = 0;
    for (const uint32_t packet : order)
      fresh += bitmap.arrived(packet, 1, [](uint64_t, uint64_t) {});
    if (fresh != kPackets || bitmap.chunks_complete() != bitmap.chunks())
      state.SkipWithError("wrong count");
    benchmark::DoNotOptimize(fresh);
  }
  state.counters["packets/s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * kPackets, benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(bitmap_arrivals, in_order, false);
BENCHMARK_CAPTURE(bitmap_arrivals, random_order, true);

}  // namespace
}  // namespace longhaul
