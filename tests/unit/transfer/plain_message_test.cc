/// Plain SDR messages: what arrives is seen in a bitmap, and the user decides.

#include <algorithm>

#include "sim/payload.h"
#include "tests/catch.h"
#include "tests/support/wild_network.h"

namespace longhaul {
namespace {

constexpr uint32_t kMtu = 1024;

QueuePairAttributes attributes() {
  QueuePairAttributes attributes;
  attributes.connection = 42;
  attributes.chunk_packets = 4;
  attributes.generations = 2;
  attributes.channels = 4;
  attributes.round_trip = Duration::milliseconds(2);
  attributes.reordering = Duration::milliseconds(1);
  return attributes;
}

struct Memory {
  explicit Memory(uint64_t bytes) : bytes_(bytes), stored(bytes + 1) {}
  MemorySlice on(test::WildHost& host) {
    const MemoryRegion region{stored.data(), bytes_, kMtu, kMtu};
    return {host.register_memory(region), region, 0, bytes_};
  }
  uint64_t bytes_;
  std::vector<std::byte> stored;
};

struct Pair : test::WildPair {
  explicit Pair(const test::WildSpec& spec = {}, const QueuePairAttributes& with = attributes())
      : WildPair(spec, with, 1) {}

  uint64_t send(Memory& source, uint32_t immediate = 0x89abcdef) {
    const uint64_t id = sender.send_start(now, source.on(sender_host), immediate);
    sender.send_continue(now, id, 0, sender.send_message(id).packets());
    sender.send_end(now, id);
    return id;
  }
  void run_for(Duration time) {
    const Instant end = now + time;
    run(end, [] { return false; });
    now = end;
  }
};

TEST_CASE("a one-shot message arrives, with its immediate, and each end learns of the other") {
  // Few packets carry only part of the immediate: BEGIN has the rest.
  for (const uint64_t bytes : {0ull, 1ull, 1023ull, 1024ull, 1025ull, 7168ull, 40'000ull}) {
    Pair pair;
    Memory source(bytes);
    Memory buffer(50'000);
    sim::fill_payload({source.stored.data(), bytes}, 3);
    const uint64_t receive = *pair.receiver.recv_post(pair.now, buffer.on(pair.receiver_host));
    const uint64_t send = pair.send(source);
    REQUIRE(pair.sender.send_message_status(send).state == SendState::waiting);
    pair.run_for(Duration::milliseconds(10));
    REQUIRE(pair.sender.send_message_status(send).state == SendState::injected);
    const ReceiveMessage& message = pair.receiver.recv_message(receive);
    REQUIRE(message.bytes() == bytes);
    REQUIRE(message.user_immediate() == 0x89abcdef);
    REQUIRE(message.all_arrived());
    REQUIRE(sim::payload_equals({buffer.stored.data(), bytes}, 3));
    pair.receiver.recv_complete(pair.now, receive);
    pair.run_for(Duration::milliseconds(10));
    const SendStatus status = pair.sender.send_message_status(send);
    REQUIRE(status.state == SendState::completed);
    REQUIRE(status.completion == CompletionStatus::delivered);
    // Nothing is left to be done at either end.
    REQUIRE(pair.sender.next_wakeup().deadline == Instant::never());
    REQUIRE(pair.receiver.next_wakeup().deadline == Instant::never());
  }
}

TEST_CASE("eight packets are enough for the immediate, without BEGIN") {
  test::WildHost host({}, Rng(1));
  QueuePair queue_pair(attributes(), host);
  Memory buffer(20 * kMtu);
  const uint64_t id = *queue_pair.recv_post({}, buffer.on(host));
  EventBatch events;
  CommandBatch commands;
  const auto arrive = [&](uint32_t first, uint32_t count) {
    events.clear();
    events.events.emplace_back(PacketsArrived{0, 0, 0, first, count, 0x89abcdef, {}, {}});
    queue_pair.turn({}, events, commands);
  };
  arrive(9, 3);
  arrive(4, 3);
  arrive(15, 1);
  REQUIRE_FALSE(queue_pair.recv_message(id).user_immediate());
  arrive(0, 1);
  REQUIRE(queue_pair.recv_message(id).user_immediate() == 0x89abcdef);
  REQUIRE_FALSE(queue_pair.recv_message(id).bytes());
}

TEST_CASE("the user repairs what the bitmap lacks, by sending ranges again") {
  test::WildSpec spec;
  spec.data_loss = 0.2;
  spec.calm_from = Instant::never();
  Pair pair(spec);
  Memory source(200 * kMtu);
  Memory buffer(200 * kMtu);
  sim::fill_payload({source.stored.data(), source.bytes_}, 4);
  const uint64_t receive = *pair.receiver.recv_post(pair.now, buffer.on(pair.receiver_host));
  const uint64_t send = pair.sender.send_start(pair.now, source.on(pair.sender_host), 0);
  pair.sender.send_continue(pair.now, send, 0, 200);
  int rounds = 0;
  for (; !pair.receiver.recv_message(receive).all_arrived() && rounds < 30; ++rounds) {
    pair.run_for(Duration::milliseconds(10));
    const ReceiveBitmap& bitmap = pair.receiver.recv_message(receive).bitmap();
    for (uint64_t chunk = 0; chunk < bitmap.chunks(); ++chunk) {
      if (!bitmap.chunk_complete(chunk)) pair.sender.send_continue(pair.now, send, chunk * 4, 4);
    }
  }
  REQUIRE(rounds > 1);
  REQUIRE(pair.receiver.recv_message(receive).all_arrived());
  REQUIRE(sim::payload_equals({buffer.stored.data(), buffer.bytes_}, 4));
}

TEST_CASE("a message may be completed with chunks missing, and then nothing lands any more") {
  test::WildSpec spec;
  spec.jitter = Duration::milliseconds(20);
  spec.calm_from = Instant::never();
  Pair pair(spec);
  Memory source(400 * kMtu);
  Memory buffer(400 * kMtu);
  sim::fill_payload({source.stored.data(), source.bytes_}, 5);
  const uint64_t receive = *pair.receiver.recv_post(pair.now, buffer.on(pair.receiver_host));
  const uint64_t send = pair.send(source);
  pair.run(Instant::never(),
           [&] { return pair.receiver.recv_message(receive).bitmap().chunks_complete() >= 50; });
  REQUIRE_FALSE(pair.receiver.recv_message(receive).all_arrived());
  pair.receiver.recv_complete(pair.now, receive);
  pair.receiver.turn(pair.now, {}, pair.receiver_commands);
  pair.receiver_host.submit(pair.now, pair.receiver_commands.commands,
                            pair.receiver_commands.control_bytes);
  pair.receiver_commands.clear();
  std::ranges::fill(buffer.stored, std::byte{0x77});
  pair.run_for(Duration::milliseconds(100));
  REQUIRE(std::ranges::all_of(buffer.stored, [](std::byte b) { return b == std::byte{0x77}; }));
  REQUIRE(pair.receiver.counters().late_packets > 0);
  REQUIRE(pair.receiver.counters().partial_completions == 1);
  const SendStatus status = pair.sender.send_message_status(send);
  REQUIRE(status.state == SendState::completed);
  REQUIRE(status.completion == CompletionStatus::partial);
  // What is asked for after the end is not sent.
  const uint64_t sent = pair.sender.counters().data_packets;
  pair.sender.send_continue(pair.now, send, 0, 400);
  pair.run_for(Duration::milliseconds(10));
  REQUIRE(pair.sender.counters().data_packets == sent);
}

TEST_CASE("sends find receives by posting order, whichever end is first") {
  for (const bool receiver_first : {true, false}) {
    Pair pair;
    std::vector<Memory> sources, buffers;
    for (uint64_t i = 0; i < 20; ++i) {
      sources.emplace_back(i * 700);
      buffers.emplace_back(20'000);
      sim::fill_payload({sources[i].stored.data(), sources[i].bytes_}, i);
    }
    const auto post_receives = [&] {
      for (Memory& buffer : buffers)
        REQUIRE(pair.receiver.recv_post(pair.now, buffer.on(pair.receiver_host)));
    };
    const auto post_sends = [&] {
      for (Memory& source : sources) pair.send(source, static_cast<uint32_t>(source.bytes_));
    };
    receiver_first ? post_receives() : post_sends();
    // Long enough for the first clear-to-sends to come, and the repeats to be far apart.
    pair.run_for(Duration::milliseconds(9));
    receiver_first ? post_sends() : post_receives();
    pair.run_for(Duration::milliseconds(4));
    for (uint64_t i = 0; i < 20; ++i) {
      REQUIRE(pair.receiver.recv_message(i).bytes() == i * 700);
      REQUIRE(pair.receiver.recv_message(i).user_immediate() == i * 700);
      REQUIRE(sim::payload_equals({buffers[i].stored.data(), i * 700}, i));
    }
  }
}

TEST_CASE("with all slots taken a receive is not posted, until one has rested") {
  QueuePairAttributes with = attributes();
  with.max_messages = 2;
  Pair pair({}, with);
  Memory source(100);
  Memory buffer(100);
  const MemorySlice slice = buffer.on(pair.receiver_host);
  REQUIRE(pair.receiver.recv_post(pair.now, slice) == 0);
  REQUIRE(pair.receiver.recv_post(pair.now, slice) == 1);
  REQUIRE_FALSE(pair.receiver.recv_post(pair.now, slice));
  REQUIRE(pair.receiver.counters().slot_waits == 1);
  pair.send(source);
  pair.run_for(Duration::milliseconds(5));
  pair.receiver.recv_complete(pair.now, 0);
  pair.run_for(Duration::milliseconds(5));
  REQUIRE(pair.receiver.recv_post(pair.now, slice) == 2);
}

TEST_CASE("a send without a receiver, or into a smaller buffer, fails with its reason") {
  SECTION("nobody receives") {
    QueuePairAttributes with = attributes();
    with.give_up = Duration::milliseconds(100);
    Pair pair({}, with);
    Memory source(100);
    const uint64_t send = pair.send(source);
    pair.run_for(Duration::milliseconds(200));
    const SendStatus status = pair.sender.send_message_status(send);
    REQUIRE(status.state == SendState::failed);
    REQUIRE(std::string(status.reason) == "no clear-to-send within the give-up time");
  }
  SECTION("the buffer is smaller") {
    Pair pair;
    Memory source(5000);
    Memory buffer(4000);
    const uint64_t receive = *pair.receiver.recv_post(pair.now, buffer.on(pair.receiver_host));
    const uint64_t send = pair.send(source);
    pair.run_for(Duration::milliseconds(10));
    REQUIRE(std::string(pair.sender.send_message_status(send).reason) ==
            "the receiver posted a smaller buffer");
    REQUIRE(pair.receiver.recv_message(receive).abandoned());
    REQUIRE(pair.receiver.recv_message(receive).bitmap().packets().count() == 0);
  }
}

}  // namespace
}  // namespace longhaul
