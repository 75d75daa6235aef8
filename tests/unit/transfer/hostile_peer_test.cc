/// A peer that lies: each lie has its counter, and touches no memory that was not armed.

#include <algorithm>

#include "sim/host_pair.h"
#include "tests/catch.h"
#include "tests/support/null_backend.h"

namespace longhaul {
namespace {

constexpr uint32_t kMtu = 1024;

QueuePairAttributes attributes(const char* policy = "sr(nack)") {
  QueuePairAttributes attributes;
  attributes.connection = 42;
  attributes.policy = parse_policy(policy).policy;
  attributes.generations = 2;
  attributes.channels = 2;
  attributes.round_trip = Duration::milliseconds(2);
  return attributes;
}

/// One queue pair with a transfer each way and a plain message each way posted, and a peer whose
/// every word is the test's.
struct Victim {
  explicit Victim(const char* policy = "sr(nack)")
      : backend({kMtu, 16, 10'000'000'000, 102, kMtu, true}),
        memory(40 * kMtu),
        queue_pair(attributes(policy), backend) {
    const MemoryRegion region{memory.data(), memory.size(), kMtu, kMtu};
    slice = {backend.register_memory(region), region, 0, memory.size()};
    queue_pair.transfer_send({}, slice, 1);
    queue_pair.transfer_recv({}, slice);
    queue_pair.send_start({}, slice, 1);
    queue_pair.send_continue({}, 0, 0, 40);
    queue_pair.recv_post({}, slice);
    turn();
  }

  void turn() {
    commands.clear();
    queue_pair.turn(now, events, commands);
    events.clear();
    now += Duration::microseconds(50);
  }
  void tell(const ControlMessage& message, uint64_t connection = 42) {
    std::vector<std::byte> bytes;
    encode_control(connection, message, bytes);
    tell_bytes(bytes);
  }
  void tell_bytes(const std::vector<std::byte>& bytes) {
    events.events.emplace_back(ControlArrived{static_cast<uint32_t>(events.control_bytes.size()),
                                              static_cast<uint32_t>(bytes.size())});
    events.control_bytes.insert(events.control_bytes.end(), bytes.begin(), bytes.end());
    turn();
  }
  size_t writes() const {
    return static_cast<size_t>(std::ranges::count_if(
        commands.commands, [](const Command& c) { return std::holds_alternative<WriteRun>(c); }));
  }
  const QueuePairCounters& counters() const { return queue_pair.counters(); }

  test::NullBackend backend;
  std::vector<std::byte> memory;
  MemorySlice slice;
  QueuePair queue_pair;
  EventBatch events;
  CommandBatch commands;
  Instant now{};
};

TEST_CASE("bytes that are no message, or of another version or connection, are counted apart") {
  Victim victim;
  victim.tell_bytes({std::byte{1}});
  REQUIRE(victim.counters().refused_malformed == 1);
  std::vector<std::byte> bytes;
  encode_control(42, Probe{0, 0}, bytes);
  bytes[0] = std::byte{kControlVersion + 1};
  victim.tell_bytes(bytes);
  REQUIRE(victim.counters().refused_version == 1);
  victim.tell(Probe{0, 0}, 43);
  REQUIRE(victim.counters().refused_connection == 1);
  REQUIRE(victim.counters().refused_controls() == 3);
}

TEST_CASE("ids that were never posted are refused") {
  Victim victim;
  for (const MessageRole role : {MessageRole::data, MessageRole::plain}) {
    victim.tell(Begin{role, 1, 100, 0, 0, 0, 0});
    Feedback feedback;
    feedback.role = role;
    feedback.id = 1;
    victim.tell(feedback);
    victim.tell(Complete{role, 1, CompletionStatus::delivered, 0});
    victim.tell(Retired{role, 1});
  }
  victim.tell(Probe{1, 0});
  REQUIRE(victim.counters().refused_unknown == 9);
  REQUIRE(victim.queue_pair.recv_status(0).state == TransferState::active);
  REQUIRE(victim.queue_pair.send_status(0).state == TransferState::active);
}

TEST_CASE("clear-to-sends for the future are kept, but not without bound") {
  Victim victim;
  for (uint64_t id = 1; id < 10'000; ++id)
    victim.tell(ClearToSend{MessageRole::data, id, 0, 0, 0, 1, 0});
  REQUIRE(victim.counters().refused_unknown == 9999 - 2 * kSlotsPerGeneration);
}

TEST_CASE("a clear-to-send for a generation that does not exist sends nothing") {
  Victim victim;
  victim.tell(ClearToSend{MessageRole::data, 0, 0, 2, 0, 40 * kMtu, 0});
  REQUIRE(victim.writes() == 0);
  victim.tell(ClearToSend{MessageRole::plain, 0, 0, 15, 0, 40 * kMtu, 0});
  REQUIRE(victim.writes() == 0);
  REQUIRE(victim.counters().refused_unknown == 2);
}

TEST_CASE("a smaller buffer than the message ends the send, with nothing sent") {
  Victim victim;
  victim.tell(ClearToSend{MessageRole::data, 0, 0, 0, 0, 40 * kMtu - 1, 0});
  REQUIRE(victim.writes() == 0);
  REQUIRE(std::string(victim.queue_pair.send_status(0).reason) ==
          "the receiver posted a smaller buffer");
  victim.tell(ClearToSend{MessageRole::plain, 0, 0, 0, 0, 0, 0});
  REQUIRE(victim.queue_pair.send_message_status(0).state == SendState::failed);
  REQUIRE(victim.counters().refused_size == 2);
}

TEST_CASE("a message that is longer than its buffer, or coded otherwise, ends the receive") {
  SECTION("longer") {
    Victim victim;
    victim.tell(Begin{MessageRole::data, 0, 40 * kMtu + 1, 0, 0, 0, 0});
    REQUIRE(victim.queue_pair.recv_status(0).state == TransferState::failed);
    victim.tell(Begin{MessageRole::plain, 0, ~uint64_t{0}, 0, 0, 0, 0});
    REQUIRE_FALSE(victim.queue_pair.recv_message(0).bytes());
    REQUIRE(victim.counters().refused_size == 2);
  }
  SECTION("coded, where no code was agreed") {
    Victim victim;
    victim.tell(Begin{MessageRole::data, 0, 40 * kMtu, 0, 32, 8, 2});
    REQUIRE(victim.queue_pair.recv_status(0).state == TransferState::failed);
    REQUIRE(victim.counters().refused_code == 1);
  }
  SECTION("another code") {
    Victim victim("ec(8,4)");
    victim.tell(Begin{MessageRole::data, 0, 40 * kMtu, 0, 8, 5, 5});
    REQUIRE(victim.counters().refused_code == 1);
    REQUIRE(std::string(victim.queue_pair.recv_status(0).reason) ==
            "the sender uses another erasure code");
  }
}

TEST_CASE("bitmap bits beyond the message, and arrivals of slots never armed, change nothing") {
  Victim victim;
  const auto arrive = [&](uint8_t channel, uint8_t generation, uint16_t slot, uint32_t first,
                          uint32_t count) {
    victim.events.events.emplace_back(
        PacketsArrived{channel, generation, slot, first, count, 0, {}, {}});
  };
  arrive(0, 0, 0, 40, 1);                // the transfer has 40 packets
  arrive(0, 0, 0, 39, 2);                //
  arrive(0, 0, 1, 0, ~0u);               // the plain message
  arrive(0, 0, 1, ~0u, 1);               //
  victim.turn();
  REQUIRE(victim.counters().beyond_packets == 1 + 2 + uint64_t{~0u} + 1);
  arrive(0, 0, 2, 0, 1);                 // armed by nobody
  arrive(0, 1, 0, 0, 1);                 //
  arrive(0, 200, 60'000, 0, 1);          // cannot exist
  arrive(63, 0, 0, 0, 1);                // nor this channel
  victim.turn();
  REQUIRE(victim.counters().late_packets == 4);
  REQUIRE(victim.queue_pair.recv(0).bitmap().packets().count() == 0);
  REQUIRE(victim.queue_pair.recv_message(0).bitmap().packets().count() == 0);
}

TEST_CASE("a receiver that claims what was never sent deceives itself only") {
  Victim victim;
  victim.tell(ClearToSend{MessageRole::data, 0, 0, 0, 0, 40 * kMtu, 0});
  Feedback lie;
  lie.cumulative = ~uint64_t{0};
  lie.highest_end = ~uint64_t{0};
  lie.echoes = {{63, ~uint64_t{0}}, {0, 39}};
  lie.echo_hold = Duration{std::numeric_limits<int64_t>::max()};
  lie.sections = {{0, ~uint64_t{0}, {{5, 7}, {1'000'000, ~uint64_t{0}}}}};
  for (int i = 0; i < 100; ++i) victim.tell(lie);
  REQUIRE(victim.queue_pair.send_status(0).state == TransferState::active);
  victim.tell(Complete{MessageRole::data, 0, CompletionStatus::delivered, 12345});
  REQUIRE(std::string(victim.queue_pair.send_status(0).reason) ==
          "the end-to-end checksum differs");
  REQUIRE(victim.counters().checksum_mismatches == 1);
}

TEST_CASE("writes of a hostile host touch nothing that is not armed") {
  sim::PathSpec path;
  path.mtu_bytes = kMtu;
  path.propagation = Duration::milliseconds(1);
  sim::HostPair hosts(path, attributes(), sim::capabilities_of(path, 16), Rng(1));
  std::vector<std::byte> source(64 * kMtu, std::byte{0xaa});
  std::vector<std::byte> buffer(64 * kMtu);
  const MemoryRegion source_region{source.data(), source.size(), kMtu, kMtu};
  const MemoryRegion buffer_region{buffer.data(), buffer.size(), kMtu, kMtu};
  const MemoryHandle source_handle = hosts.sender.backend.register_memory(source_region);
  const MemoryHandle buffer_handle = hosts.receiver.backend.register_memory(buffer_region);
  // Ten packets in the middle of the registration, the last one of a single byte.
  hosts.receiver.queue_pair.recv_post({},
                                      {buffer_handle, buffer_region, 20 * kMtu, 9 * kMtu + 1});
  hosts.receiver.turn({});

  std::vector<Command> writes;
  for (const uint8_t generation : {uint8_t{0}, uint8_t{1}, uint8_t{15}}) {
    for (const uint16_t slot : {uint16_t{0}, uint16_t{1}, uint16_t{1023}}) {
      for (const uint32_t first : {9u, 10u, 200'000u}) {
        WriteRun write;
        write.generation = generation;
        write.slot = slot;
        write.first_packet = first;
        write.packet_count = 16;
        write.last_packet_bytes = kMtu;
        write.source = source_handle;
        writes.emplace_back(write);
      }
    }
  }
  hosts.sender.backend.submit({}, writes, {});
  hosts.run_until(Instant{} + Duration::seconds(1));
  const auto memory = hosts.receiver.backend.memory_counters();
  REQUIRE(memory.out_of_bounds_packets == 3 * 16);
  REQUIRE(memory.fenced_packets == 8 * 3 * 16);
  REQUIRE(memory.landed_packets + memory.late_landed_packets == 0);
  REQUIRE(std::ranges::all_of(buffer, [](std::byte b) { return b == std::byte{0}; }));
  REQUIRE(hosts.receiver.queue_pair.recv_message(0).bitmap().chunks_complete() == 0);
}

}  // namespace
}  // namespace longhaul
