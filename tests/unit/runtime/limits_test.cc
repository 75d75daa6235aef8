#include "tests/unit/runtime/loopback_pair.h"

#include "core/base/error.h"

namespace longhaul {
namespace {

using test::Buffer;
using test::by_hand;
using test::Link;
using test::loopback_name;
using test::random_bytes;

/// The text of the SetupError that `set_up` must throw.
template <class SetUp>
std::string refusal(SetUp&& set_up) {
  try {
    set_up();
  } catch (const SetupError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST_CASE("devices and their keys are refused with what would be right") {
  const auto open = [](const std::string& name) { return refusal([&] { Context{name}; }); };
  CHECK_THAT(open("loopbak"), ContainsSubstring("loopbak: there is no such device"));
  CHECK_THAT(open("loopbak"), ContainsSubstring("did you mean loopback?"));
  CHECK_THAT(open("verbs:mlx5_0"), ContainsSubstring("This build has: loopback:NAME"));
  CHECK_THAT(open("loopback:x?rat=1Gb/s"), ContainsSubstring("did you mean rate?"));
  CHECK_THAT(open("loopback:x?rate=1GB/s"), ContainsSubstring("\"1GB/s\" is no value for rate"));
  CHECK_THAT(open("loopback:x?delay=-1ms"), ContainsSubstring("from 0ms to 10s"));
  CHECK_THAT(open("loopback:x?loss=1"), ContainsSubstring("0.99"));
  CHECK_THAT(open("loopback:x?loss=nan"), ContainsSubstring("no value for loss"));
  CHECK_THAT(open("loopback:x?mtu=1500"), ContainsSubstring("1024, 2048, 4096 or 8192"));
  CHECK_THAT(open("loopback:x?seed=-1"), ContainsSubstring("no value for seed"));
  CHECK_THAT(open("loopback:x?seed"), ContainsSubstring("has no value"));
  CHECK_THAT(open("loopback:x?seed=1&seed=1"), ContainsSubstring("given twice"));
  const std::string name = loopback_name();
  const Context first(name + "?delay=1ms");
  CHECK_THAT(open(name + "?delay=2ms"), ContainsSubstring("with other keys"));
  CHECK(open(name + "?delay=1000us") == "nothing was refused");
}

TEST_CASE("context and queue pair attributes are refused with their range") {
  ContextOptions options;
  options.channels = 65;
  const std::string name = loopback_name();
  CHECK_THAT(refusal([&] { Context(name, options); }), ContainsSubstring("channels is 65"));
  options.channels = 2;
  options.workers = 3;
  CHECK_THAT(refusal([&] { Context(name, options); }), ContainsSubstring("workers is 3"));
  ManualClock clock;
  options.workers = 0;
  options.clock = &clock;
  CHECK_THAT(refusal([&] { Context(name, options); }), ContainsSubstring("clock"));

  Context context(name, by_hand());
  const auto create = [&](auto&& change) {
    QueuePairOptions attributes;
    change(attributes);
    return refusal([&] { (void)context.create_queue_pair(attributes); });
  };
  using O = QueuePairOptions;
  CHECK_THAT(create([](O& o) { o.policy = "sr(nak)"; }),
             ContainsSubstring("did you mean sr(nack)"));
  CHECK_THAT(create([](O& o) { o.generations = 17; }), ContainsSubstring("generations is 17"));
  CHECK_THAT(create([](O& o) { o.generations = 0; }), ContainsSubstring("generations is 0"));
  CHECK_THAT(create([](O& o) { o.max_messages = 3073; }), ContainsSubstring("at most 3072"));
  CHECK_THAT(create([](O& o) { o.chunk_packets = 0; }), ContainsSubstring("chunk_packets is 0"));
  CHECK_THAT(create([](O& o) { o.mtu_bytes = 1500; }), ContainsSubstring("mtu_bytes is 1500"));
  CHECK_THAT(create([](O& o) { o.rate_bps = 1; }), ContainsSubstring("rate_bps is 1"));
  CHECK_THAT(create([](O& o) { o.round_trip = {}; }), ContainsSubstring("round_trip_ps is 0"));
  CHECK_THAT(create([](O& o) { o.reordering = {-1}; }), ContainsSubstring("reordering_ps is -1"));
  CHECK_THAT(create([](O& o) { o.give_up = {}; }), ContainsSubstring("give_up_ps is 0"));
}

TEST_CASE("each mismatch of the two ends is told when they connect") {
  const std::string name = loopback_name();
  Context here(name, by_hand());
  ContextOptions other = by_hand();
  other.channels = 4;
  Context there(name, other);
  QueuePairOptions attributes;
  auto local = here.create_queue_pair(attributes);
  attributes.policy = "ec(32,8)";
  attributes.generations = 2;
  attributes.chunk_packets = 8;
  auto peer = there.create_queue_pair(attributes);
  const std::string told = refusal([&] { local->connect(peer->connect_info()); });
  CHECK_THAT(told, ContainsSubstring("policy differs: sr(nack) here, ec(32,8) at the peer"));
  CHECK_THAT(told, ContainsSubstring("generations differs: 4 here, 2 at the peer"));
  CHECK_THAT(told, ContainsSubstring("chunk_packets differs: 16 here, 8 at the peer"));
  CHECK_THAT(told, ContainsSubstring("channels differs: 8 here, 4 at the peer"));
  CHECK_THAT(refusal([&] { local->connect(local->connect_info()); }),
             ContainsSubstring("own blob"));
  auto blob = peer->connect_info();
  blob[20] ^= std::byte{1};
  CHECK_THAT(refusal([&] { local->connect(blob); }), ContainsSubstring("altered"));
  CHECK_THAT(refusal([&] { local->connect({}); }), ContainsSubstring("empty"));
  CHECK_FALSE(local->connected());
  CHECK(local->describe().empty());
}

TEST_CASE("a peer that cannot be reached is refused when they connect") {
  const std::string name = loopback_name();
  Context here(name, by_hand());
  Context there(name, by_hand());
  Context elsewhere(loopback_name(), by_hand());
  auto local = here.create_queue_pair();
  auto peer = there.create_queue_pair();
  auto far = elsewhere.create_queue_pair();
  CHECK_THAT(refusal([&] { local->connect(far->connect_info()); }),
             ContainsSubstring("another loopback"));
  const auto gone = there.create_queue_pair()->connect_info();
  CHECK_THAT(refusal([&] { local->connect(gone); }), ContainsSubstring("has been destroyed"));
  local->connect(peer->connect_info());
  CHECK_THAT(refusal([&] { local->connect(peer->connect_info()); }),
             ContainsSubstring("connected already"));
  auto late = here.create_queue_pair();
  CHECK_THAT(refusal([&] { late->connect(peer->connect_info()); }),
             ContainsSubstring("the peer is connected already"));
}

TEST_CASE("the smaller MTU and depths of both ends are used, and described") {
  Link link(loopback_name("mtu=8192&delay=10ms"), by_hand());
  QueuePairOptions small, large;
  small.mtu_bytes = 2048;
  small.max_messages = 5;
  large.message_bytes = 1 << 20;
  large.round_trip = Duration::milliseconds(20);
  link.connect(small, large);
  for (const RuntimeQueuePair* end : {link.sender.get(), link.receiver.get()}) {
    CHECK_THAT(end->describe(), ContainsSubstring("MTU 2048 bytes"));
    CHECK_THAT(end->describe(), ContainsSubstring("5 messages armed at once, of 4096 slots"));
    CHECK_THAT(end->describe(), ContainsSubstring("policy sr(nack), round trip"));
    CHECK_THAT(end->describe(), ContainsSubstring("late-write fence: yes"));
  }
  CHECK_THAT(link.receiver->describe(), !ContainsSubstring("warning"));
  QueuePairOptions tiny;
  tiny.message_bytes = 4096;
  tiny.round_trip = Duration::milliseconds(20);
  link.sender.reset();
  link.receiver.reset();
  link.connect(tiny);
  CHECK_THAT(link.sender->describe(), ContainsSubstring("warning: 3072 messages can be live"));
  CHECK_THAT(link.a.describe(), ContainsSubstring("MTU 8192 bytes, 8 channels, 0 workers"));
  link.sender.reset();
  link.receiver.reset();
}

TEST_CASE("posts before the connection ask to be repeated") {
  Link link(loopback_name(), by_hand());
  link.sender = link.a.create_queue_pair();
  Buffer memory(link.a, random_bytes(100, 1));
  CHECK(link.sender->transfer_send(memory.memory(), 0, 100, 0).status == Status::retry);
  CHECK(link.sender->transfer_recv(memory.memory(), 0, 100).status == Status::retry);
  CHECK(link.sender->send_post(memory.memory(), 0, 100, 0).status == Status::retry);
  CHECK_THAT(link.sender->recv_post(memory.memory(), 0, 100).text(),
             ContainsSubstring("not connected yet"));
  link.sender.reset();
}

TEST_CASE("what can never be done is refused with its numbers") {
  Link link(loopback_name("mtu=1024"), by_hand());
  QueuePairOptions options;
  options.policy = "ec(32,8)";
  options.max_messages = 2;
  options.max_bytes = 1 << 20;
  link.connect(options);
  // Reserved, not touched: nothing is sent.
  constexpr uint64_t kHuge = uint64_t{1} << 30;
  const std::unique_ptr<std::byte[]> room(new std::byte[kHuge]);
  auto huge = link.a.register_memory(room.get(), kHuge);
  {
    Buffer foreign(link.b, random_bytes(100, 1));
    CHECK_THAT(link.sender->transfer_send(foreign.memory(), 0, 1, 0).text(),
               ContainsSubstring("another context"));
    const auto beyond = link.receiver->transfer_recv(foreign.memory(), 50, 51);
    CHECK(beyond.status == Status::error);
    CHECK_THAT(beyond.text(), ContainsSubstring("offset 50 and length 51 go beyond the "
                                                "registration of 100 bytes"));
    CHECK(link.receiver->recv_post(foreign.memory(), ~uint64_t{0}, 2).status == Status::error);
  }
  const auto many_slots = link.sender->transfer_recv(*huge, 0, kHuge);
  CHECK(many_slots.status == Status::error);
  CHECK_THAT(many_slots.text(),
             ContainsSubstring("takes 5 message slots with ec(32,8), and only 2"));
  CHECK_THAT(link.sender->transfer_send(*huge, 0, kHuge, 0).text(),
             ContainsSubstring("message slots"));
  const auto many_packets = link.sender->send_post(*huge, 0, (uint64_t{1} << 28) + 1, 0);
  CHECK_THAT(many_packets.text(), ContainsSubstring("262145 packets"));
  CHECK_THAT(many_packets.text(), ContainsSubstring("use transfer_send"));
  CHECK(link.sender->recv_post(*huge, 0, (uint64_t{1} << 28) + 1).status == Status::error);
  CHECK_THAT(link.sender->transfer_recv(*huge, 0, (1 << 20) + 1).text(),
             ContainsSubstring("max_bytes"));
  link.sender.reset();
  link.receiver.reset();
  CHECK(link.a.deregister_memory(huge).ok());
}

TEST_CASE("max_bytes and slots free again what was completed") {
  Link link(loopback_name(), by_hand());
  QueuePairOptions options;
  options.max_bytes = 10'000;
  options.max_messages = 3;
  options.round_trip = Duration::microseconds(10);
  options.reordering = Duration::microseconds(10);
  link.connect(options);
  {
    Buffer target(link.b, random_bytes(20'000, 1));
    Buffer source(link.a, random_bytes(20'000, 1));
    const auto first = link.receiver->recv_post(target.memory(), 0, 6'000);
    REQUIRE(first.ok());
    const auto over = link.receiver->recv_post(target.memory(), 0, 4'001);
    CHECK(over.status == Status::retry);
    CHECK_THAT(over.text(), ContainsSubstring("max_bytes"));
    const auto second = link.receiver->recv_post(target.memory(), 6'000, 1);
    const auto third = link.receiver->recv_post(target.memory(), 6'001, 1);
    REQUIRE((second.ok() && third.ok()));
    CHECK_THAT(link.receiver->recv_post(target.memory(), 0, 1).text(),
               ContainsSubstring("no message slot is free"));
    const auto sent = link.sender->send_post(source.memory(), 0, 5'000, 0);
    REQUIRE(link.wait([&] { return link.sender->send_poll(sent.id).ok(); }));
    link.receiver->recv_complete(first.id);
    REQUIRE(link.wait([&] { return link.receiver->recv_post(target.memory(), 0, 9'998).ok(); }));
    link.sender.reset();
    link.receiver.reset();
  }
}

TEST_CASE("an end of one direction refuses posts of the other") {
  Link link(loopback_name(), by_hand());
  QueuePairOptions sends, receives;
  sends.direction = Direction::send;
  receives.direction = Direction::receive;
  link.connect(sends, receives);
  {
    Buffer source(link.a, random_bytes(1000, 1));
    Buffer target(link.b, std::vector<std::byte>(1000));
    CHECK_THAT(link.sender->transfer_recv(source.memory(), 0, 10).text(),
               ContainsSubstring("this end only sends"));
    CHECK_THAT(link.sender->recv_post(source.memory(), 0, 10).text(),
               ContainsSubstring("this end only sends"));
    CHECK_THAT(link.receiver->transfer_send(target.memory(), 0, 10, 0).text(),
               ContainsSubstring("this end only receives"));
    CHECK_THAT(link.receiver->send_post(target.memory(), 0, 10, 0).text(),
               ContainsSubstring("this end only receives"));
    const auto received = link.receiver->transfer_recv(target.memory(), 0, 1000);
    const auto sent = link.sender->transfer_send(source.memory(), 0, 1000, 0);
    REQUIRE((received.ok() && sent.ok()));
    REQUIRE(link.wait([&] {
      return link.sender->transfer_poll(sent.id, nullptr).ok() &&
             link.receiver->transfer_poll(received.id, nullptr).ok();
    }));
  }
  link.sender.reset();
  link.receiver.reset();
}

}  // namespace
}  // namespace longhaul
