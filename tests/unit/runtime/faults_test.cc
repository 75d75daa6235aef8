#include <mutex>

#include "tests/unit/runtime/loopback_pair.h"

namespace longhaul {
namespace {

using test::Buffer;
using test::by_hand;
using test::Link;
using test::loopback_name;
using test::random_bytes;

TEST_CASE("everything on a queue pair fails when the peer is destroyed") {
  const bool progress_thread = GENERATE(false, true);
  ContextOptions context;
  context.progress_thread = progress_thread;
  context.workers = progress_thread ? 2 : 0;
  Link link(loopback_name("delay=1ms&rate=1Gb/s"), context);
  link.connect();
  {
    Buffer source(link.a, random_bytes(8 << 20, 1));
    Buffer target(link.b, std::vector<std::byte>(8 << 20));
    const auto received = link.receiver->transfer_recv(target.memory(), 0, 8 << 20);
    const auto sent = link.sender->transfer_send(source.memory(), 0, 8 << 20, 0);
    const auto message = link.sender->send_post(source.memory(), 0, 100, 0);
    const auto waiting = link.sender->recv_post(source.memory(), 0, 100);
    REQUIRE((received.ok() && sent.ok() && message.ok() && waiting.ok()));
    REQUIRE(link.wait([&] { return link.receiver->counters().received_packets > 100; }));
    SECTION("the receiver goes in the middle of a transfer, and nothing lands any more") {
      link.receiver.reset();
      const std::vector<std::byte> then = target.bytes();
      TransferResult result;
      REQUIRE(link.wait([&] { return link.sender->transfer_poll(sent.id, &result).ok(); }));
      CHECK(result.state == TransferState::failed);
      CHECK(std::string(result.reason) == "the peer is gone");
      CHECK(link.sender->counters().peer_gone == 1);
      CHECK_THAT(link.sender->send_poll(message.id).text(), ContainsSubstring("peer is gone"));
      CHECK_THAT(link.sender->send_completed(message.id, nullptr).text(),
                 ContainsSubstring("peer is gone"));
      uint64_t bytes = 0;
      size_t chunks = 0;
      CHECK(link.sender->recv_length(waiting.id, bytes, chunks).status == Status::error);
      link.sender->recv_complete(waiting.id);
      REQUIRE(link.wait([&] { return link.sender->send_free(message.id).ok(); }));
      CHECK(link.sender->transfer_free(sent.id).ok());
      CHECK((target.bytes() == then));
    }
    SECTION("the sender goes") {
      link.sender.reset();
      TransferResult result;
      REQUIRE(link.wait([&] { return link.receiver->transfer_poll(received.id, &result).ok(); }));
      CHECK(result.state == TransferState::failed);
      CHECK(std::string(result.reason) == "the peer is gone");
    }
    link.sender.reset();
    link.receiver.reset();
  }
}

TEST_CASE("a transfer without a peer that receives gives up in time") {
  Link link(loopback_name(), by_hand());
  QueuePairOptions options;
  options.give_up = Duration::milliseconds(20);
  link.connect(options);
  {
    Buffer source(link.a, random_bytes(100, 1));
    const auto sent = link.sender->transfer_send(source.memory(), 0, 100, 0);
    TransferResult result;
    CHECK(link.sender->transfer_poll(sent.id, &result).status == Status::retry);
    CHECK(result.state == TransferState::active);
    CHECK(link.sender->transfer_free(sent.id).status == Status::retry);
    REQUIRE(link.wait([&] { return link.sender->transfer_poll(sent.id, &result).ok(); }));
    CHECK(result.state == TransferState::failed);
    CHECK_THAT(result.reason, ContainsSubstring("give-up time"));
  }
  link.sender.reset();
  link.receiver.reset();
}

TEST_CASE("memory cannot be deregistered while a post uses it") {
  Link link(loopback_name(), by_hand());
  link.connect();
  {
    Buffer source(link.a, random_bytes(10'000, 1));
    Buffer target(link.b, random_bytes(10'000, 2));
    const auto received = link.receiver->transfer_recv(target.memory(), 0, 10'000);
    const auto message = link.receiver->recv_post(target.memory(), 0, 10);
    const auto sent = link.sender->transfer_send(source.memory(), 0, 10'000, 0);
    const auto stream = link.sender->send_start(source.memory(), 0, 10, 0);
    CHECK(link.a.deregister_memory(source.owned()).status == Status::retry);
    CHECK(link.b.deregister_memory(target.owned()).status == Status::retry);
    REQUIRE(link.wait([&] {
      return link.sender->transfer_poll(sent.id, nullptr).ok() &&
             link.receiver->transfer_poll(received.id, nullptr).ok();
    }));
    CHECK(link.a.deregister_memory(source.owned()).status == Status::retry);
    CHECK(link.sender->send_free(stream.id).status == Status::retry);
    REQUIRE(link.sender->send_end(stream.id).ok());
    CHECK(link.b.deregister_memory(target.owned()).status == Status::retry);
    link.receiver->recv_complete(message.id);
    CHECK(link.b.deregister_memory(target.owned()).ok());
    REQUIRE(link.wait([&] { return link.a.deregister_memory(source.owned()).ok(); }));
  }
  link.sender.reset();
  link.receiver.reset();
}

TEST_CASE("packets without a posted receive are counted, and repaired") {
  // The receiver's clock stands still while the sender sends more than receives are posted.
  Link link(loopback_name("receives=8&delay=10us&rate=1Gb/s"), by_hand());
  QueuePairOptions options;
  options.round_trip = Duration::microseconds(100);
  link.connect(options);
  {
    constexpr size_t kBytes = 1 << 20;
    Buffer source(link.a, random_bytes(kBytes, 1));
    Buffer target(link.b, std::vector<std::byte>(kBytes));
    const auto received = link.receiver->transfer_recv(target.memory(), 0, kBytes);
    const auto sent = link.sender->transfer_send(source.memory(), 0, kBytes, 0);
    REQUIRE(link.wait([&] { return link.sender->counters().data_packets > 0; }));
    // Only the sender makes progress.
    REQUIRE(
        test::wait_until({&link.a}, [&] { return link.sender->counters().data_packets == 256; }));
    REQUIRE(link.wait([&] {
      return link.sender->transfer_poll(sent.id, nullptr).ok() &&
             link.receiver->transfer_poll(received.id, nullptr).ok();
    }));
    CHECK((source.bytes() == target.bytes()));
    CHECK(link.receiver->counters().receive_queue_empty > 0);
    CHECK(link.receiver->counters().receive_queue_empty ==
          link.receiver->port_counters().receive_queue_empty);
  }
  link.sender.reset();
  link.receiver.reset();
}

TEST_CASE("a context with a clock of its own moves when the clock does") {
  ManualClock clock;
  ContextOptions options = by_hand();
  options.clock = &clock;
  Link link(loopback_name("delay=5ms"), options);
  link.connect();
  {
    Buffer source(link.a, random_bytes(5'000, 1));
    Buffer target(link.b, std::vector<std::byte>(5'000));
    const auto received = link.receiver->transfer_recv(target.memory(), 0, 5'000);
    const auto sent = link.sender->transfer_send(source.memory(), 0, 5'000, 0);
    const auto step = [&] {
      for (int i = 0; i < 4; ++i) {
        link.a.progress();
        link.b.progress();
      }
    };
    step();
    CHECK(link.sender->counters().data_packets == 0);
    clock.advance(Duration::milliseconds(5) + Duration::microseconds(1));
    step();
    CHECK(link.sender->counters().data_packets == 2);
    clock.advance(Duration::milliseconds(5) + Duration::microseconds(2));
    step();
    CHECK(link.receiver->transfer_poll(received.id, nullptr).ok());
    CHECK(link.sender->transfer_poll(sent.id, nullptr).status == Status::retry);
    clock.advance(Duration::milliseconds(5) + Duration::microseconds(1));
    step();
    TransferResult result;
    CHECK(link.sender->transfer_poll(sent.id, &result).ok());
    CHECK(result.state == TransferState::delivered);
  }
  link.sender.reset();
  link.receiver.reset();
}

}  // namespace
}  // namespace longhaul
