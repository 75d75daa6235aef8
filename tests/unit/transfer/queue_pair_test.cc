/// Two queue pairs across a network that reorders and duplicates, and a peer that errs.

#include "sim/payload.h"
#include "tests/catch.h"
#include "tests/support/wild_network.h"

namespace longhaul {
namespace {

QueuePairAttributes attributes_of(const char* policy) {
  QueuePairAttributes attributes;
  attributes.connection = 42;
  attributes.policy = parse_policy(policy).policy;
  attributes.round_trip = Duration::milliseconds(2);
  return attributes;
}

struct Posted {
  std::vector<std::byte> source;
  std::vector<std::byte> buffer;
};

Posted post(test::WildPair& pair, uint64_t bytes, uint64_t capacity) {
  Posted posted{std::vector<std::byte>(bytes + 1), std::vector<std::byte>(capacity + 1)};
  sim::fill_payload({posted.source.data(), bytes}, 9);
  const MemoryRegion source{posted.source.data(), bytes, 1024, 1024};
  const MemoryRegion buffer{posted.buffer.data(), capacity, 1024, 1024};
  pair.sender.transfer_send({}, {pair.sender_host.register_memory(source), source, 0, bytes},
                            0xabcdef01);
  pair.receiver.transfer_recv({},
                              {pair.receiver_host.register_memory(buffer), buffer, 0, capacity});
  return posted;
}

bool sent(const test::WildPair& pair) {
  return pair.sender.send_status(0).state != TransferState::active;
}

TEST_CASE("any permutation and any multiset of packets is delivered, counted once") {
  for (const char* policy : {"sr(rto=3rtt)", "sr(nack)", "ec(8,4)"}) {
    for (uint64_t seed = 1; seed <= 30; ++seed) {
      test::WildSpec spec;
      spec.duplication = 0.5;
      spec.jitter = Duration::milliseconds(10);  // five round trips: order means nothing
      spec.calm_from = Instant::never();
      test::WildPair pair(spec, attributes_of(policy), seed);
      const Posted posted = post(pair, 300'001, 300'001);
      pair.run(Instant{} + Duration::seconds(10), [&] { return sent(pair); });
      INFO(policy << " seed " << seed);
      REQUIRE(pair.sender.send_status(0).state == TransferState::delivered);
      REQUIRE(sim::payload_equals({posted.buffer.data(), 300'001}, 9));
      REQUIRE(pair.receiver.recv(0).bitmap().chunks_complete() ==
              pair.receiver.recv(0).bitmap().chunks());
      REQUIRE(pair.receiver.counters().duplicate_packets + pair.receiver.counters().late_packets >
              0);
    }
  }
}

TEST_CASE("a shorter message than the buffer is delivered at its own length") {
  for (const char* policy : {"sr(nack)", "ec(8,4)"}) {
    for (const uint64_t bytes : {0ull, 1ull, 1024ull, 5000ull}) {
      test::WildPair pair({}, attributes_of(policy), 1);
      const Posted posted = post(pair, bytes, 100'000);
      pair.run(Instant{} + Duration::seconds(10), [&] { return sent(pair); });
      REQUIRE(pair.sender.send_status(0).state == TransferState::delivered);
      REQUIRE(pair.receiver.recv(0).bytes() == bytes);
      REQUIRE(pair.receiver.recv(0).user_immediate() == 0xabcdef01);
      REQUIRE(sim::payload_equals({posted.buffer.data(), bytes}, 9));
    }
  }
}

TEST_CASE("a message longer than the buffer is refused, and ends as failed at both ends") {
  QueuePairAttributes attributes = attributes_of("sr(nack)");
  attributes.give_up = Duration::milliseconds(200);
  test::WildPair pair({}, attributes, 1);
  const Posted posted = post(pair, 20'000, 10'000);
  pair.run(Instant{} + Duration::seconds(10), [&] {
    return sent(pair) && pair.receiver.recv_status(0).state != TransferState::active;
  });
  REQUIRE(pair.sender.send_status(0).state == TransferState::failed);
  REQUIRE(pair.sender.counters().refused_size > 0);
  REQUIRE(pair.receiver.recv_status(0).state == TransferState::failed);
  REQUIRE(posted.buffer.back() == std::byte{0});
}

TEST_CASE("ends with different codes do not deliver garbage") {
  QueuePairAttributes attributes = attributes_of("ec(8,4)");
  attributes.give_up = Duration::milliseconds(200);
  test::WildHost sender_host({}, Rng(1));
  test::WildHost receiver_host({}, Rng(2));
  QueuePair sender(attributes, sender_host);
  attributes.policy = parse_policy("ec(8,2)").policy;
  QueuePair receiver(attributes, receiver_host);
  EventBatch events;
  CommandBatch commands;
  std::vector<std::byte> memory(100'000);
  const MemoryRegion region{memory.data(), memory.size(), 1024, 1024};
  receiver.transfer_recv({}, {receiver_host.register_memory(region), region, 0, memory.size()});
  encode_control(42, Begin{MessageRole::data, 0, memory.size(), 0, 8, 4, 13}, events.control_bytes);
  events.events.emplace_back(ControlArrived{0, static_cast<uint32_t>(events.control_bytes.size())});
  receiver.turn({}, events, commands);
  REQUIRE(receiver.counters().refused_code == 1);
  REQUIRE(receiver.recv(0).bytes() == 0);
}

TEST_CASE("messages of another connection are refused") {
  test::WildHost host({}, Rng(1));
  QueuePair queue_pair(attributes_of("sr(nack)"), host);
  std::vector<std::byte> memory(10'000);
  const MemoryRegion region{memory.data(), memory.size(), 1024, 1024};
  queue_pair.transfer_send({}, {host.register_memory(region), region, 0, memory.size()}, 0);
  EventBatch events;
  CommandBatch commands;
  encode_control(41, ClearToSend{MessageRole::data, 0, 0, 0, 0, 10'000, 0}, events.control_bytes);
  events.events.emplace_back(ControlArrived{0, static_cast<uint32_t>(events.control_bytes.size())});
  queue_pair.turn({}, events, commands);
  REQUIRE(queue_pair.counters().refused_connection == 1);
  REQUIRE(commands.commands.empty());
}

TEST_CASE("a packet for a slot that is not armed, or beyond its message, changes nothing") {
  test::WildHost host({}, Rng(1));
  QueuePair queue_pair(attributes_of("sr(nack)"), host);
  std::vector<std::byte> memory(10'000);
  const MemoryRegion region{memory.data(), memory.size(), 1024, 1024};
  queue_pair.transfer_recv({}, {host.register_memory(region), region, 0, memory.size()});
  EventBatch events;
  CommandBatch commands;
  queue_pair.turn({}, events, commands);
  events.events.emplace_back(PacketsArrived{0, 0, 7, 0, 1, 0, {}, {}});
  events.events.emplace_back(PacketsArrived{0, 3, 0, 0, 1, 0, {}, {}});
  events.events.emplace_back(PacketsArrived{0, 0, 0, 10, 1, 0, {}, {}});
  events.events.emplace_back(PacketsArrived{0, 0, 0, 5, 100, 0, {}, {}});
  queue_pair.turn({1}, events, commands);
  REQUIRE(queue_pair.counters().stale_packets == 2);
  REQUIRE(queue_pair.recv(0).bitmap().packets().count() == 0);
}

TEST_CASE("an ended transfer answers a late PROBE with COMPLETE") {
  test::WildPair pair({}, attributes_of("sr(nack)"), 1);
  const Posted posted = post(pair, 5000, 5000);
  pair.run(Instant{} + Duration::seconds(10), [&] { return sent(pair); });
  EventBatch events;
  CommandBatch commands;
  // The repeats of COMPLETE that are due anyway, until the next one is far away.
  Instant now = pair.now;
  while (pair.receiver.next_wakeup().deadline < now + Duration::milliseconds(50)) {
    now = pair.receiver.next_wakeup().deadline;
    pair.receiver.turn(now, events, commands);
  }
  commands.clear();
  encode_control(42, Probe{0, 7}, events.control_bytes);
  events.events.emplace_back(ControlArrived{0, static_cast<uint32_t>(events.control_bytes.size())});
  now += Duration::milliseconds(10);
  pair.receiver.turn(now, events, commands);
  REQUIRE(commands.commands.size() == 1);
  const auto answer = parse_control(commands.control_bytes);
  REQUIRE(std::holds_alternative<Complete>(std::get<ParsedControl>(answer).message));

  // Once the sender has retired it, nothing is left to answer.
  events.clear();
  commands.clear();
  encode_control(42, Retired{MessageRole::data, 0}, events.control_bytes);
  const auto retired = static_cast<uint32_t>(events.control_bytes.size());
  encode_control(42, Probe{0, 8}, events.control_bytes);
  events.events.emplace_back(ControlArrived{0, retired});
  events.events.emplace_back(
      ControlArrived{retired, static_cast<uint32_t>(events.control_bytes.size()) - retired});
  pair.receiver.turn(now + Duration::milliseconds(1), events, commands);
  REQUIRE(commands.commands.empty());
  REQUIRE(pair.receiver.next_wakeup().deadline == Instant::never());
}

TEST_CASE("a corrupted delivery is found by the end-to-end checksum") {
  test::WildPair pair({}, attributes_of("sr(nack)"), 1);
  Posted posted = post(pair, 200'000, 200'000);
  // The source changes behind the sender's back after its checksum was taken.
  posted.source[150'000] ^= std::byte{1};
  pair.run(Instant{} + Duration::seconds(10), [&] { return sent(pair); });
  REQUIRE(pair.sender.send_status(0).state == TransferState::failed);
  REQUIRE(std::string(pair.sender.send_status(0).reason) == "the end-to-end checksum differs");
}

}  // namespace
}  // namespace longhaul
