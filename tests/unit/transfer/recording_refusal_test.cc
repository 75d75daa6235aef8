/// Recordings that no recorder writes: well-formed bytes that make no sense.

#include "core/transfer/recording.h"
#include "core/transfer/replay.h"
#include "tests/catch.h"

namespace longhaul {
namespace {

using Bytes = std::vector<std::byte>;

/// A recording of one post after some others, ended properly.
template <class Posts>
ReplayReport replay_posts(Posts&& posts, const QueuePairAttributes& attributes = {},
                          const Capabilities& capabilities = {1024, 8, 1'000'000'000, 102, 1024,
                                                              true}) {
  Bytes bytes;
  Recorder recorder(attributes, capabilities, bytes);
  posts(recorder);
  recorder.finish();
  return replay(bytes);
}

TEST_CASE("posts that break a precondition are refused before the core sees them") {
  const MemorySlice slice{MemoryHandle{1}, {}, 0, 10'000};
  const auto refused = [](auto&& posts) {
    const ReplayReport report = replay_posts(posts);
    return report.error.has_value() && report.error->what.starts_with("a post makes no sense: ");
  };
  REQUIRE_FALSE(refused([&](Recorder& r) { r.send_start({}, slice, 0); }));
  REQUIRE(refused([](Recorder& r) { r.send_end({}, 0); }));
  REQUIRE(refused([](Recorder& r) { r.send_continue({}, 0, 0, 1); }));
  REQUIRE(refused([](Recorder& r) { r.recv_complete({}, 0); }));
  REQUIRE(refused([](Recorder& r) { r.forget_send(0); }));
  REQUIRE(refused([](Recorder& r) { r.forget_recv(0); }));
  REQUIRE(refused([](Recorder& r) { r.forget_send_message(0); }));
  REQUIRE(refused([&](Recorder& r) {
    r.transfer_recv({}, slice);
    r.forget_recv(0);
  }));
  REQUIRE(refused([&](Recorder& r) {
    r.transfer_send({}, slice, 0);
    r.checksum(1);
    r.forget_send(0);
  }));
  REQUIRE(refused([&](Recorder& r) {
    r.send_start({}, slice, 0);
    r.send_continue({}, 0, 5, 6);  // of 10 packets
  }));
  REQUIRE(refused([&](Recorder& r) {
    r.recv_post({}, slice);
    r.slot(true);
    r.recv_complete({}, 0);
    r.recv_complete({}, 0);
  }));
  for (const uint64_t bytes : {uint64_t{1} << 40, uint64_t{1} << 60, ~uint64_t{0}}) {
    REQUIRE(refused([&](Recorder& r) { r.recv_post({}, {{}, {}, 0, bytes}); }));
    REQUIRE(refused([&](Recorder& r) { r.transfer_recv({}, {{}, {}, 0, bytes}); }));
    REQUIRE(refused([&](Recorder& r) { r.transfer_send({}, {{}, {}, 0, bytes}, 0); }));
    REQUIRE(refused([&](Recorder& r) { r.send_start({}, {{}, {}, 0, bytes}, 0); }));
  }
}

TEST_CASE("attributes and capabilities that the core cannot have are refused") {
  const auto nothing = [](Recorder&) {};
  REQUIRE_FALSE(replay_posts(nothing).error);
  REQUIRE(replay_posts(nothing, {}, {}).error);
  REQUIRE(replay_posts(nothing, {}, {1024, 0, 1'000'000'000, 102, 1024, true}).error);
  REQUIRE(replay_posts(nothing, {}, {1024, 8, 0, 102, 1024, true}).error);
  REQUIRE(replay_posts(nothing, {}, {1024, 8, 1'000'000'000, 102, 60, true}).error);
  const auto refused = [&](auto&& change) {
    QueuePairAttributes attributes;
    change(attributes);
    return replay_posts(nothing, attributes).error.has_value();
  };
  REQUIRE(refused([](QueuePairAttributes& a) { a.channels = 0; }));
  REQUIRE(refused([](QueuePairAttributes& a) { a.channels = kMaxChannels + 1; }));
  REQUIRE(refused([](QueuePairAttributes& a) { a.generations = kMaxGenerations + 1; }));
  REQUIRE(refused([](QueuePairAttributes& a) { a.chunk_packets = 0; }));
  REQUIRE(refused([](QueuePairAttributes& a) { a.max_messages = 0; }));
  REQUIRE(refused([](QueuePairAttributes& a) { a.give_up = {-1}; }));
  REQUIRE(refused([](QueuePairAttributes& a) { a.round_trip = {int64_t{1} << 61}; }));
  REQUIRE(refused([](QueuePairAttributes& a) { a.quarantine = Duration{-5}; }));
  REQUIRE(refused([](QueuePairAttributes& a) {
    a.policy.kind = PolicySpec::Kind::erasure_code;
    a.policy.data_count = 200;
    a.policy.parity_count = 56;
  }));
}

TEST_CASE("answers and outcomes in the wrong place are refused or noticed") {
  const MemorySlice slice{MemoryHandle{1}, {}, 0, 100};
  EventBatch none;
  REQUIRE(replay_posts([](Recorder& r) { r.outcome(0, 0, 0, 0); }).error);
  REQUIRE(replay_posts([](Recorder& r) { r.slot(true); }).error);
  REQUIRE(replay_posts([&](Recorder& r) { r.recv_post({}, slice); }).error);
  REQUIRE(replay_posts([&](Recorder& r) { r.turn({}, none); }).error);
  REQUIRE(replay_posts([&](Recorder& r) {
            r.turn({}, none);
            r.outcome(0, 0, 3, 2);
          }).error);
  REQUIRE(replay_posts([&](Recorder& r) {
            r.turn({5}, none);
            r.outcome(0, 0, 0, 0);
            r.turn({4}, none);
          }).error);
  const auto no_answer = replay_posts([&](Recorder& r) { r.transfer_send({}, slice, 0); });
  REQUIRE(no_answer.difference);
  REQUIRE(no_answer.difference->what.find("asks for a checksum") != std::string::npos);
  const auto needless = replay_posts([&](Recorder& r) {
    r.transfer_recv({}, slice);
    r.checksum(1);
  });
  REQUIRE(needless.difference);
  const auto no_slot = replay_posts([&](Recorder& r) {
    r.recv_post({}, slice);
    r.slot(false);
  });
  REQUIRE(no_slot.difference);
}

}  // namespace
}  // namespace longhaul
