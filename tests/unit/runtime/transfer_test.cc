#include "tests/unit/runtime/loopback_pair.h"

namespace longhaul {
namespace {

using test::Buffer;
using test::Link;
using test::loopback_name;
using test::random_bytes;

constexpr size_t kMtu = 4096;
constexpr size_t kMiB = size_t{1} << 20;

/// Sends all sizes at once and compares what arrives.
void transfer_all(Link& link, const std::vector<size_t>& sizes, uint64_t seed) {
  size_t total = 0;
  for (const size_t size : sizes) total += size;
  // One byte apart, so that writing beyond an end is seen.
  Buffer source(link.a, random_bytes(total, seed));
  Buffer target(link.b, std::vector<std::byte>(total + sizes.size() + 1, std::byte{0xee}));
  struct Ends {
    TransferId sent, received;
    size_t from, to, size;
  };
  std::vector<Ends> transfers;
  size_t from = 0, to = 1;
  for (const size_t size : sizes) {
    const auto received = link.receiver->transfer_recv(target.memory(), to, size);
    REQUIRE(received.text().empty());
    const auto sent =
        link.sender->transfer_send(source.memory(), from, size, static_cast<uint32_t>(size) + 7);
    REQUIRE(sent.text().empty());
    transfers.push_back({sent.id, received.id, from, to, size});
    from += size;
    to += size + 1;
  }
  for (const Ends& ends : transfers) {
    TransferResult sent, received;
    REQUIRE(link.wait([&] {
      return link.sender->transfer_poll(ends.sent, &sent).ok() &&
             link.receiver->transfer_poll(ends.received, &received).ok();
    }));
    CHECK(std::string(sent.reason) + received.reason == "");
    CHECK(sent.state == TransferState::delivered);
    CHECK(received.state == TransferState::delivered);
    CHECK(sent.bytes == ends.size);
    CHECK(received.bytes == ends.size);
    CHECK(received.user_immediate == ends.size + 7);
    CHECK(std::memcmp(source.bytes().data() + ends.from, target.bytes().data() + ends.to,
                      ends.size) == 0);
    CHECK(target.bytes()[ends.to - 1] == std::byte{0xee});
    CHECK(link.sender->transfer_free(ends.sent).ok());
    CHECK(link.receiver->transfer_free(ends.received).ok());
  }
  CHECK(target.bytes().back() == std::byte{0xee});
}

const std::vector<size_t> kSizes = {0, 1,         kMtu - 1, kMtu, kMtu + 1, kMiB, 3 * kMtu + 5,
                                    0, 20 * kMiB, 17};

TEST_CASE("transfers of many sizes are delivered by all policies, threads and losses") {
  const std::string policy = GENERATE("sr(nack)", "sr(rto=3rtt)", "ec(32,8)");
  const uint32_t workers = GENERATE(0u, 1u, 8u);
  const bool progress_thread = GENERATE(false, true);
  const std::string loss = GENERATE("0", "1e-2");
  CAPTURE(policy, workers, progress_thread, loss);
  ContextOptions options;
  options.workers = workers;
  options.progress_thread = progress_thread;
  Link link(loopback_name("delay=200us&loss=" + loss + "&control_loss=" + loss), options);
  QueuePairOptions queue_pair;
  queue_pair.policy = policy;
  link.connect(queue_pair);
  transfer_all(link, kSizes, 1);
  if (loss != "0" && policy != "ec(32,8)") CHECK(link.sender->counters().retransmitted_packets > 0);
  link.sender.reset();
  link.receiver.reset();
}

}  // namespace
}  // namespace longhaul
