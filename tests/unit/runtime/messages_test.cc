#include <algorithm>

#include "tests/unit/runtime/loopback_pair.h"

namespace longhaul {
namespace {

using test::Buffer;
using test::count_chunks;
using test::has_chunk;
using test::Link;
using test::loopback_name;
using test::random_bytes;

constexpr size_t kMtu = 4096;
constexpr size_t kChunk = 16 * kMtu;
constexpr std::byte kUntouched{0xee};

std::vector<std::byte> untouched(size_t bytes) { return std::vector<std::byte>(bytes, kUntouched); }

ContextOptions threads(uint32_t workers, bool progress_thread) {
  ContextOptions options;
  options.workers = workers;
  options.progress_thread = progress_thread;
  return options;
}

uint64_t must(const Posted<uint64_t>& posted) {
  REQUIRE(posted.text().empty());
  return posted.id;
}

/// Both ends of one message.
struct Message {
  uint64_t sent = 0;
  uint64_t received = 0;
  BitmapView bitmap;
  uint64_t bytes = 0;
  size_t chunks = 0;
};

Message post(Link& link, Buffer& source, Buffer& target, uint32_t immediate) {
  Message message;
  message.received = must(link.receiver->recv_post(target.memory(), 0, target.bytes().size()));
  message.bitmap = link.receiver->recv_bitmap(message.received);
  message.sent = must(link.sender->send_post(source.memory(), 0, source.bytes().size(), immediate));
  REQUIRE(link.wait([&] {
    return link.receiver->recv_length(message.received, message.bytes, message.chunks).ok();
  }));
  return message;
}

void finish(Link& link, uint64_t sent) {
  REQUIRE(link.wait([&] { return link.sender->send_completed(sent, nullptr).ok(); }));
  REQUIRE(link.wait([&] { return link.sender->send_free(sent).ok(); }));
}

TEST_CASE("a message is sent once, and its chunks are seen in the bitmap") {
  const uint32_t workers = GENERATE(0u, 1u, 8u);
  const bool progress_thread = GENERATE(false, true);
  Link link(loopback_name("delay=100us"), threads(workers, progress_thread));
  link.connect();
  {
    Buffer source(link.a, random_bytes(5 * kChunk + kMtu + 3, 2));
    Buffer target(link.b, untouched(7 * kChunk));
    const Message message = post(link, source, target, 0xfeedbeef);
    CHECK(message.bytes == source.bytes().size());
    CHECK(message.chunks == 6);
    REQUIRE(message.bitmap.chunks == 7);
    // The last chunk of the buffer is not reached; of the one before it there is only a part.
    REQUIRE(link.wait([&] { return count_chunks(message.bitmap) == 6; }));
    CHECK_FALSE(has_chunk(message.bitmap, 6));
    uint32_t immediate = 0;
    REQUIRE(
        link.wait([&] { return link.receiver->recv_immediate(message.received, immediate).ok(); }));
    CHECK(immediate == 0xfeedbeef);
    REQUIRE(link.wait([&] { return link.sender->send_poll(message.sent).ok(); }));
    CHECK(link.sender->send_completed(message.sent, nullptr).status == Status::retry);
    CHECK(std::ranges::equal(source.bytes(), std::span(target.bytes()).first(message.bytes)));
    CHECK(target.bytes()[message.bytes] == kUntouched);
    link.receiver->recv_complete(message.received);
    bool all = false;
    REQUIRE(link.wait([&] { return link.sender->send_completed(message.sent, &all).ok(); }));
    CHECK(all);
    finish(link, message.sent);
  }
  link.sender.reset();
  link.receiver.reset();
}

TEST_CASE("short and empty messages bring the user's immediate along") {
  const size_t size = GENERATE(size_t{0}, size_t{1}, 2 * kMtu, 8 * kMtu);
  CAPTURE(size);
  Link link(loopback_name("delay=100us"));
  link.connect();
  {
    Buffer source(link.a, random_bytes(size, 3));
    Buffer target(link.b, untouched(size));
    const Message message = post(link, source, target, 0x89abcdef);
    CHECK(message.bytes == size);
    CHECK(message.chunks == (size == 0 ? 0 : 1));
    uint32_t immediate = 0;
    CHECK(link.receiver->recv_immediate(message.received, immediate).ok());
    CHECK(immediate == 0x89abcdef);
    REQUIRE(link.wait([&] { return count_chunks(message.bitmap) == message.chunks; }));
    CHECK((source.bytes() == target.bytes()));
    link.receiver->recv_complete(message.received);
    finish(link, message.sent);
  }
  link.sender.reset();
  link.receiver.reset();
}

TEST_CASE("a stream is repaired by its user until the bitmap is full") {
  const uint32_t workers = GENERATE(0u, 8u);
  Link link(loopback_name("delay=100us&loss=2e-2"), threads(workers, true));
  link.connect();
  {
    constexpr size_t kPackets = 1000;
    Buffer source(link.a, random_bytes(kPackets * kMtu - 5, 4));
    Buffer target(link.b, untouched(source.bytes().size()));
    const uint64_t received =
        must(link.receiver->recv_post(target.memory(), 0, target.bytes().size()));
    const BitmapView bitmap = link.receiver->recv_bitmap(received);
    REQUIRE(bitmap.chunks == (kPackets + 15) / 16);
    const uint64_t sent =
        must(link.sender->send_start(source.memory(), 0, source.bytes().size(), 5));
    // Out of order, in pieces that are no chunks.
    for (size_t first = kPackets; first > 0;) {
      const size_t count = std::min<size_t>(first, 7);
      first -= count;
      REQUIRE(link.sender->send_continue(sent, first, count).ok());
    }
    int rounds = 0;
    while (count_chunks(bitmap) < bitmap.chunks && ++rounds < 1000) {
      REQUIRE(link.wait([&] { return link.sender->send_poll(sent).ok(); }));
      for (size_t chunk = 0; chunk < bitmap.chunks; ++chunk) {
        if (has_chunk(bitmap, chunk)) continue;
        const size_t first = chunk * 16;
        REQUIRE(
            link.sender->send_continue(sent, first, std::min(kPackets - first, size_t{16})).ok());
      }
    }
    REQUIRE(count_chunks(bitmap) == bitmap.chunks);
    CHECK(link.sender->send_continue(sent, kPackets - 1, 2).status == Status::error);
    REQUIRE(link.sender->send_end(sent).ok());
    CHECK_THAT(link.sender->send_continue(sent, 0, 1).text(), ContainsSubstring("ended"));
    // Copies of what is there already may land until now.
    link.receiver->recv_complete(received);
    CHECK((source.bytes() == target.bytes()));
    bool all = false;
    REQUIRE(link.wait([&] { return link.sender->send_completed(sent, &all).ok(); }));
    CHECK(all);
    CHECK_THAT(link.sender->send_continue(sent, 0, 1).text(), ContainsSubstring("completed"));
    finish(link, sent);
  }
  link.sender.reset();
  link.receiver.reset();
}

TEST_CASE("nothing lands after a message has been completed early") {
  const uint32_t workers = GENERATE(0u, 8u);
  Link link(loopback_name("delay=1ms&rate=10Gb/s&loss=1e-2"), threads(workers, workers != 0));
  QueuePairOptions options;
  options.round_trip = Duration::milliseconds(2);
  link.connect(options);
  {
    Buffer source(link.a, random_bytes(400 * kChunk, 5));
    Buffer target(link.b, untouched(source.bytes().size()));
    const Message message = post(link, source, target, 0);
    // More than half is still under way, and lands nowhere.
    REQUIRE(link.wait([&] { return count_chunks(message.bitmap) >= 100; }));
    link.receiver->recv_complete(message.received);
    const std::vector<std::byte> then = target.bytes();
    CHECK((source.bytes() != then));
    // The sender stops when it hears of it; all that has left by then must have come.
    bool all = true;
    REQUIRE(link.wait([&] { return link.sender->send_completed(message.sent, &all).ok(); }));
    CHECK_FALSE(all);
    CHECK(link.receiver->counters().partial_completions == 1);
    REQUIRE(link.wait([&] { return link.sender->send_free(message.sent).ok(); }));
    // A message behind it comes after all its packets.
    Buffer next_source(link.a, random_bytes(64 * kChunk, 6));
    Buffer next_target(link.b, untouched(next_source.bytes().size()));
    const Message next = post(link, next_source, next_target, 0);
    REQUIRE(link.wait([&] { return has_chunk(next.bitmap, 0) || count_chunks(next.bitmap) > 10; }));
    CHECK((target.bytes() == then));
    CHECK(link.receiver->port_counters().fenced_packets > 0);
    CHECK(link.receiver->counters().late_packets > 0);
    link.receiver->recv_complete(next.received);
    finish(link, next.sent);
  }
  link.sender.reset();
  link.receiver.reset();
}

TEST_CASE("messages and transfers of several queue pairs share a context") {
  Link link(loopback_name("delay=200us&loss=1e-3&control_loss=1e-3"), threads(3, true));
  std::vector<std::unique_ptr<RuntimeQueuePair>> senders, receivers;
  for (const char* policy : {"sr(nack)", "sr(rto=2rtt)", "ec(8,2)", "ec(32,8)"}) {
    QueuePairOptions options;
    options.policy = policy;
    options.chunk_packets = senders.size() % 2 == 0 ? 16 : 5;
    link.connect(options);
    senders.push_back(std::move(link.sender));
    receivers.push_back(std::move(link.receiver));
  }
  {
    const size_t count = senders.size();
    std::vector<std::unique_ptr<Buffer>> sources, targets;
    std::vector<TransferId> sent, received;
    for (size_t i = 0; i < count; ++i) {
      sources.push_back(std::make_unique<Buffer>(link.a, random_bytes((4 << 20) + i, i)));
      targets.push_back(std::make_unique<Buffer>(link.b, untouched((4 << 20) + i)));
      received.push_back(receivers[i]->transfer_recv(targets[i]->memory(), 0, (4 << 20) + i).id);
      sent.push_back(senders[i]->transfer_send(sources[i]->memory(), 0, (4 << 20) + i, 0).id);
    }
    for (size_t i = 0; i < count; ++i) {
      TransferResult result;
      REQUIRE(link.wait([&] {
        return receivers[i]->transfer_poll(received[i], nullptr).ok() &&
               senders[i]->transfer_poll(sent[i], &result).ok();
      }));
      CHECK(result.state == TransferState::delivered);
      CHECK((sources[i]->bytes() == targets[i]->bytes()));
    }
  }
  senders.clear();
  receivers.clear();
}

TEST_CASE("hundreds of messages go through the slots of one generation and out of order") {
  Link link(loopback_name("delay=50us"), threads(2, true));
  QueuePairOptions options;
  options.generations = 2;
  options.max_messages = 64;
  options.round_trip = Duration::microseconds(100);
  options.reordering = Duration::microseconds(50);
  link.connect(options);
  {
    constexpr size_t kMessages = 600;
    Buffer source(link.a, random_bytes(kMessages * kMtu, 7));
    Buffer target(link.b, untouched(kMessages * kMtu));
    std::vector<uint64_t> sent;
    for (size_t i = 0; i < kMessages; ++i) {
      sent.push_back(
          must(link.sender->send_post(source.memory(), i * kMtu, kMtu, static_cast<uint32_t>(i))));
    }
    bool refused = false;
    std::vector<uint64_t> received;
    size_t posted = 0, completed = 0;
    while (completed < kMessages) {
      while (posted < kMessages) {
        const auto post = link.receiver->recv_post(target.memory(), posted * kMtu, kMtu);
        refused |= post.status == Status::retry;
        if (!post.ok()) break;
        received.push_back(post.id);
        ++posted;
      }
      // The youngest first: slots come back in any order.
      while (!received.empty()) {
        const uint64_t id = received.back();
        REQUIRE(link.wait([&] { return has_chunk(link.receiver->recv_bitmap(id), 0); }));
        link.receiver->recv_complete(id);
        received.pop_back();
        ++completed;
      }
    }
    CHECK(refused);
    CHECK((source.bytes() == target.bytes()));
    for (const uint64_t id : sent) finish(link, id);
  }
  link.sender.reset();
  link.receiver.reset();
}

}  // namespace
}  // namespace longhaul
