#include "backends/runtime/port_backend.h"

#include <algorithm>
#include <deque>

#include "tests/catch.h"

namespace longhaul {
namespace {

constexpr uint32_t kMtu = 1024;

/// Does what the test says, and notes what it is asked to do.
class FakePort final : public Port {
 public:
  FakePort() {
    capabilities_.mtu_bytes = kMtu;
    capabilities_.rate_bps = 1'000'000'000;
  }

  std::vector<std::byte> connect_bytes() const override { return {}; }
  std::vector<uint64_t> root_keys() const override { return {}; }
  void connect(const ConnectInfo&, uint32_t) override {}
  const Capabilities& capabilities() const override { return capabilities_; }
  void close() override {}

  bool post_write(Instant, const WriteRun& run) override {
    if (room < run.packet_count) return false;
    room -= run.packet_count;
    return true;
  }
  bool send_control(Instant, std::span<const std::byte>) override {
    ++controls;
    return true;
  }
  void arm(const ArmReceive& receive) override { armed.push_back(receive.slot); }
  void release(SlotId slot) override { std::erase(armed, slot.slot); }
  void poll(Instant, EventBatch&) override {}
  Instant next_event(uint64_t) override { return Instant::never(); }

  size_t poll_completions(uint8_t, Instant, std::span<ReceiveCompletion> out) override {
    const size_t count = std::min(out.size(), arrived.size());
    std::copy_n(arrived.begin(), count, out.begin());
    arrived.erase(arrived.begin(), arrived.begin() + static_cast<ptrdiff_t>(count));
    return count;
  }
  void repost(uint8_t, uint8_t generation, uint32_t count) override {
    reposted[generation] += count;
  }
  Instant next_arrival(uint8_t) override { return arrived.empty() ? Instant::never() : Instant{}; }
  PortCounters counters() const override { return {}; }

  void arrive(uint16_t slot, uint32_t packet, uint8_t generation = 0) {
    ReceiveCompletion completion;
    completion.wr_id = generation;
    completion.opcode = kReceiveWithImmediate;
    completion.imm_data = swap_network_order(Immediate{slot, packet, packet % 16}.encode());
    arrived.push_back(completion);
  }

  uint32_t room = ~0u;
  int controls = 0;
  std::vector<uint16_t> armed;
  std::deque<ReceiveCompletion> arrived;
  std::array<uint32_t, kMaxGenerations> reposted{};

 private:
  Capabilities capabilities_;
};

class FakeDevice final : public Device {
 public:
  std::string kind() const override { return "fake"; }
  std::string describe() const override { return "fake"; }
  Capabilities capabilities() const override { return {}; }
  MemoryHandle register_memory(const MemoryRegion&) override { return {}; }
  void deregister_memory(MemoryHandle) override {}
  MemoryRegion region(MemoryHandle) const override { return {memory.data(), memory.size()}; }
  std::unique_ptr<Port> open_port(const PortAttributes&) override { return {}; }

  mutable std::vector<std::byte> memory = std::vector<std::byte>(1 << 20);
};

struct Fixture {
  explicit Fixture(bool served = false, uint8_t channels = 1)
      : bells(std::make_shared<Doorbells>(served ? 1 : 0)),
        backend(device, port, bells, {channels, 2, kMtu, 0, bells}, 4, served) {}

  size_t submit(const std::vector<Command>& commands) {
    return backend.submit({}, commands, control);
  }
  EventBatch poll(Instant now = {}) {
    EventBatch events;
    backend.poll(now, events);
    return events;
  }

  FakeDevice device;
  FakePort port;
  std::shared_ptr<Doorbells> bells;
  PortBackend backend;
  std::vector<std::byte> control = std::vector<std::byte>(8);
};

WriteRun write(uint32_t packets) {
  WriteRun run;
  run.packet_count = packets;
  run.last_packet_bytes = kMtu;
  return run;
}
ArmReceive arm(uint16_t slot, uint64_t offset = 0, uint32_t packets = 256) {
  return {0, slot, MemoryHandle{}, offset, uint64_t{packets} * kMtu, packets};
}
ReleaseReceive release(uint16_t slot) { return {0, slot}; }

TEST_CASE("commands are taken up to the first that the port has no room for") {
  Fixture f;
  f.port.room = 3;
  CHECK(f.submit({write(2), SendControl{0, 8}, write(2), SendControl{0, 8}}) == 2);
  CHECK(f.port.controls == 1);
  f.port.room = 2;
  CHECK(f.submit({write(2), SendControl{0, 8}}) == 2);
  CHECK(f.port.controls == 2);
}

TEST_CASE("a release that waits for the wire fences all the same, once") {
  Fixture f;
  CHECK(f.submit({arm(7), arm(8, 4096)}) == 2);
  f.port.room = 0;
  const std::vector<Command> waiting = {write(1), release(7), arm(7), release(7), arm(7)};
  CHECK(f.submit(waiting) == 0);
  CHECK(f.port.armed == std::vector<uint16_t>{8});
  CHECK(f.submit(waiting) == 0);
  f.port.room = 1;
  CHECK(f.submit(waiting) == waiting.size());
  CHECK(f.port.armed == std::vector<uint16_t>{8, 7});
  CHECK(f.submit({release(7), release(8)}) == 2);
  CHECK(f.port.armed.empty());
}

TEST_CASE("slots are suspended by the memory that they lead to, until they are released") {
  Fixture f;
  CHECK(f.submit({arm(1, 0, 4), arm(2, 4096, 4), arm(3, 8192, 4)}) == 3);
  f.backend.suspend(std::span(f.device.memory).subspan(4096, 8192));
  CHECK(f.port.armed == std::vector<uint16_t>{1});
  f.backend.suspend(std::span(f.device.memory).first(0));
  CHECK(f.port.armed == std::vector<uint16_t>{1});
  const std::vector<Command> commands = {release(3)};
  f.backend.resume(commands);
  CHECK(f.port.armed == std::vector<uint16_t>{1, 2});
  CHECK(f.submit(commands) == 1);
  CHECK(f.port.armed == std::vector<uint16_t>{1, 2});
  CHECK(f.submit({release(2), release(1)}) == 2);
  f.port.arrive(2, 0);
  CHECK(f.poll().events.empty());
  CHECK(f.backend.arrival_counters().late == 1);
}

TEST_CASE("chunks that are published are told again as far as the core lacks them") {
  Fixture f;
  CHECK(f.submit({arm(5, 0, 10)}) == 1);
  for (uint32_t packet = 0; packet < 9; ++packet) f.port.arrive(5, packet);
  CHECK(f.backend.serve_channel(0, {}) == 9);
  PacketBitmap known(10);
  known.set(1, 2, [](uint64_t, uint64_t) {});
  f.backend.repeat_chunks({7}, {0, 5}, known);
  f.backend.fence({0, 5});
  const EventBatch events = f.poll({8});
  std::vector<std::pair<uint32_t, uint32_t>> runs;
  for (const Event& event : events.events) {
    const auto& arrived = std::get<PacketsArrived>(event);
    runs.emplace_back(arrived.first_packet, arrived.packet_count);
  }
  // Chunks of four; the third is not complete.
  CHECK(runs == std::vector<std::pair<uint32_t, uint32_t>>{{0, 1}, {3, 1}, {4, 4}});
  CHECK(f.poll().events.empty());
}

TEST_CASE("completions become runs of packets, and their receives are posted again") {
  Fixture f;
  CHECK(f.submit({arm(5)}) == 1);
  for (const uint32_t packet : {62u, 63u, 64u, 65u, 70u, 63u}) f.port.arrive(5, packet);
  f.port.arrive(9, 0);
  f.port.arrive(5, 0, 1);
  const EventBatch events = f.poll({500});
  std::vector<std::pair<uint32_t, uint32_t>> runs;
  for (const Event& event : events.events) {
    const auto& arrived = std::get<PacketsArrived>(event);
    CHECK(arrived.slot == 5);
    CHECK(arrived.last_arrival == Instant{500});
    CHECK(Immediate::fragment_of(arrived.user_immediate, arrived.first_packet) ==
          arrived.first_packet % 16);
    runs.emplace_back(arrived.first_packet, arrived.packet_count);
  }
  CHECK(runs == std::vector<std::pair<uint32_t, uint32_t>>{{62, 2}, {64, 2}, {70, 1}});
  CHECK(f.port.reposted[0] == 7);
  CHECK(f.port.reposted[1] == 1);
  CHECK(f.backend.arrival_counters().duplicate == 1);
  CHECK(f.backend.arrival_counters().late == 2);
}

TEST_CASE("more completions than there is room for news wait and are not lost") {
  const bool served = GENERATE(false, true);
  Fixture f(served);
  constexpr uint32_t kPackets = 1 << 18;
  f.device.memory.resize(size_t{kPackets} * kMtu);
  CHECK(f.submit({arm(0, 0, kPackets)}) == 1);
  // Each in a word of its own: as much news as there can be, four times over.
  for (uint32_t word = 0; word < 4096; ++word) f.port.arrive(0, word * 64);
  size_t told = 0;
  for (int turn = 0; turn < 100 && told < 4096; ++turn) {
    if (served) {
      const uint64_t rung = f.bells->progress().rings();
      while (f.backend.next_arrival(0) <= Instant{}) f.backend.serve_channel(0, {});
      // Stalled, or nothing is left; a stalled one has rung.
      CHECK((f.port.arrived.empty() || f.bells->progress().rings() > rung));
      const uint64_t worker_rung = f.bells->worker(0).rings();
      const bool was_stalled = !f.port.arrived.empty();
      told += f.poll().events.size();
      CHECK((!was_stalled || f.bells->worker(0).rings() > worker_rung));
    } else {
      told += f.poll().events.size();
    }
  }
  CHECK(told == 4096);
  CHECK(f.port.reposted[0] == 4096);
}

TEST_CASE("whoever merges rings when as much has arrived as the core waits for") {
  Fixture f(true);
  CHECK(f.submit({arm(0)}) == 1);
  f.poll();
  CHECK(f.backend.next_event({Instant::never(), 3, ~uint64_t{0}}) == Instant::never());
  const uint64_t rung = f.bells->progress().rings();
  f.port.arrive(0, 0);
  f.port.arrive(0, 1);
  CHECK(f.backend.serve_channel(0, {}) == 2);
  CHECK(f.bells->progress().rings() == rung);
  f.port.arrive(0, 2);
  CHECK(f.backend.serve_channel(0, {}) == 1);
  CHECK(f.bells->progress().rings() == rung + 1);
  // Once; and what has come since the last turn counts for the next.
  f.port.arrive(0, 3);
  CHECK(f.backend.serve_channel(0, {}) == 1);
  CHECK(f.bells->progress().rings() == rung + 1);
  CHECK(f.backend.next_event({Instant::never(), 4, ~uint64_t{0}}) == Instant{});
  CHECK(f.backend.next_event({Instant::never(), 5, ~uint64_t{0}}) == Instant::never());
  CHECK(f.backend.next_event({Instant{9}, ~uint64_t{0}, ~uint64_t{0}}) == Instant{9});
}

TEST_CASE(
    "a completion with an error is a fault of the queue pair, and its receive is posted again") {
  for (const bool served : {false, true}) {
    Fixture fixture(served);
    fixture.submit({ArmReceive{0, 3, MemoryHandle{}, 0, 8 * kMtu, 8}});
    fixture.port.arrive(3, 0);
    fixture.port.arrive(3, 1);
    fixture.port.arrived.back().status = 5;  // flushed: the queue pair is in the error state
    const uint64_t rings = fixture.bells->progress().rings();
    if (served) fixture.backend.serve_channel(0, {});
    EventBatch events;
    fixture.backend.poll({}, events);
    std::vector<FaultRaised> faults;
    for (const Event& event : events.events) {
      if (const auto* fault = std::get_if<FaultRaised>(&event)) faults.push_back(*fault);
    }
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].kind == FaultRaised::Kind::queue_pair_error);
    CHECK(faults[0].count == 1);
    CHECK(fixture.port.reposted[0] == 2);
    if (served) CHECK(fixture.bells->progress().rings() > rings);
    events.clear();
    fixture.backend.poll({}, events);
    CHECK(events.events.empty());
  }
}

}  // namespace
}  // namespace longhaul
