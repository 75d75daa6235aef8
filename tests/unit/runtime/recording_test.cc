/// What a queue pair on a real clock did, with threads and losses, is repeated offline.

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/error.h"
#include "core/transfer/replay.h"
#include "tests/unit/runtime/loopback_pair.h"

namespace longhaul::test {
namespace {

/// A name for a file that is gone afterwards.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_((std::filesystem::temp_directory_path() /
               (name + std::to_string(std::hash<std::thread::id>()(std::this_thread::get_id()))))
                  .string()) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  std::vector<std::byte> bytes() const {
    std::ifstream file(path_, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return {begin, begin + text.size()};
  }

 private:
  std::string path_;
};

void require_same(const ReplayReport& report) {
  if (report.error) FAIL(report.error->what << " at byte " << report.error->position);
  if (report.difference) FAIL(report.difference->what << " at turn " << report.difference->turn);
  REQUIRE(report.turns > 0);
}

TEST_CASE("a run with workers, losses and a progress thread is repeated command by command") {
  for (const char* policy : {"sr(rto=3rtt)", "sr(nack)", "ec(8,4)"}) {
    TemporaryFile at_sender("longhaul-sender-");
    TemporaryFile at_receiver("longhaul-receiver-");
    constexpr uint64_t kBytes = 3'000'001;
    ContextOptions context;
    context.workers = 3;
    Link link(loopback_name("delay=1ms&loss=1e-2&control_loss=1e-2"), context);
    QueuePairOptions options;
    options.policy = policy;
    options.round_trip = Duration::milliseconds(2);
    options.recording = at_sender.path();
    link.sender = link.a.create_queue_pair(options);
    options.recording = at_receiver.path();
    link.receiver = link.b.create_queue_pair(options);
    link.sender->connect(link.receiver->connect_info());
    link.receiver->connect(link.sender->connect_info());
    {
      Buffer source(link.a, random_bytes(kBytes, 1));
      Buffer target(link.b, std::vector<std::byte>(kBytes));
      for (int i = 0; i < 3; ++i) {
        const auto received = link.receiver->transfer_recv(target.memory(), 0, kBytes);
        const auto message = link.receiver->recv_post(target.memory(), 0, 5000);
        const auto sent = link.sender->transfer_send(source.memory(), 0, kBytes, 7);
        const auto piece = link.sender->send_start(source.memory(), 0, 5000, 8);
        REQUIRE((received.ok() && message.ok() && sent.ok() && piece.ok()));
        REQUIRE(link.wait([&] {
          uint64_t bytes = 0;
          size_t chunks = 0;
          (void)link.sender->send_continue(piece.id, 0, 2);  // again and again: losses are repaired
          return link.sender->transfer_poll(sent.id, nullptr).ok() &&
                 link.receiver->transfer_poll(received.id, nullptr).ok() &&
                 link.receiver->recv_length(message.id, bytes, chunks).ok();
        }));
        link.receiver->recv_complete(message.id);
        (void)link.sender->send_end(piece.id);
        REQUIRE(link.wait([&] { return link.sender->send_free(piece.id).ok(); }));
        REQUIRE(link.sender->transfer_free(sent.id).ok());
        REQUIRE(link.receiver->transfer_free(received.id).ok());
      }
    }
    link.sender.reset();
    link.receiver.reset();
    INFO(policy);
    const ReplayReport sender = replay(at_sender.bytes());
    const ReplayReport receiver = replay(at_receiver.bytes());
    require_same(sender);
    require_same(receiver);
    CHECK(sender.counters.data_packets > 3 * kBytes / 4096);
    CHECK(receiver.counters.received_packets > 3 * kBytes / 4096);
    CHECK(receiver.header.attributes.policy.name() == parse_policy(policy).policy.name());
  }
}

TEST_CASE("threads rest while nothing is due") {
  TemporaryFile at_sender("longhaul-rest-sender-");
  TemporaryFile at_receiver("longhaul-rest-receiver-");
  ContextOptions context;
  context.workers = 2;
  Link link(loopback_name("delay=100ms"), context);
  QueuePairOptions options;
  options.round_trip = Duration::milliseconds(200);
  options.recording = at_sender.path();
  link.sender = link.a.create_queue_pair(options);
  options.recording = at_receiver.path();
  link.receiver = link.b.create_queue_pair(options);
  link.sender->connect(link.receiver->connect_info());
  link.receiver->connect(link.sender->connect_info());
  {
    Buffer source(link.a, random_bytes(10'000, 1));
    Buffer target(link.b, std::vector<std::byte>(10'000));
    const auto received = link.receiver->transfer_recv(target.memory(), 0, 10'000);
    const auto sent = link.sender->transfer_send(source.memory(), 0, 10'000, 0);
    // Nobody but the threads makes progress here.
    const Instant give_up = SteadyClock::instance().now() + Duration::seconds(60);
    const auto done = [&] {
      return link.sender->transfer_poll(sent.id, nullptr).ok() &&
             link.receiver->transfer_poll(received.id, nullptr).ok();
    };
    while (!done() && SteadyClock::instance().now() < give_up) std::this_thread::yield();
    REQUIRE(done());
    CHECK(link.receiver->transfer_free(received.id).ok());
    CHECK(link.sender->transfer_free(sent.id).ok());
  }
  link.sender.reset();
  link.receiver.reset();
  for (const TemporaryFile* file : {&at_sender, &at_receiver}) {
    const ReplayReport report = replay(file->bytes());
    require_same(report);
    CHECK(report.posts == 2);
    // 300 ms: a loop that does not rest makes a hundred thousand.
    CHECK(report.turns < 3000);
  }
}

TEST_CASE("a recording that cannot be written is refused when the queue pair connects") {
  Link link(loopback_name());
  QueuePairOptions options;
  link.receiver = link.b.create_queue_pair(options);
  options.recording = "/nowhere/at/all";
  link.sender = link.a.create_queue_pair(options);
  const auto connect = [&] { link.sender->connect(link.receiver->connect_info()); };
  CHECK_THROWS_AS(connect(), SetupError);
  try {
    connect();
  } catch (const SetupError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("/nowhere/at/all"));
  }
}

}  // namespace
}  // namespace longhaul::test
