#include "core/transfer/recording.h"

#include <algorithm>

#include "core/transfer/replay.h"
#include "sim/link.h"
#include "sim/sim_backend.h"
#include "tests/catch.h"
#include "tests/unit/transfer/recorded_runs.h"

namespace longhaul {
namespace {

using test::Recordings;
using test::wild_run;
using Bytes = std::vector<std::byte>;

bool equal(const QueuePairCounters& a, const QueuePairCounters& b) {
  return std::ranges::all_of(counter_fields(),
                             [&](const CounterField& f) { return a.*f.value == b.*f.value; });
}

void require_same(const Bytes& recording, const QueuePairCounters& counters) {
  const ReplayReport report = replay(recording);
  INFO((report.error ? report.error->what : ""));
  REQUIRE(!report.error);
  INFO((report.difference ? report.difference->what : ""));
  REQUIRE(!report.difference);
  REQUIRE(report.turns > 0);
  REQUIRE(report.posts > 0);
  REQUIRE(report.commands_taken <= report.commands);
  REQUIRE(equal(report.counters, counters));
}

TEST_CASE("a recording of a wild run replays to the same commands at both ends") {
  uint64_t decoded = 0, repaired = 0, waited = 0, duplicates = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    INFO("seed " << seed);
    const Recordings run = wild_run(seed, seed % 3 == 0 ? 5 : ~size_t{0});
    require_same(run.sender, run.sent);
    require_same(run.receiver, run.received);
    decoded += run.received.decoded_packets;
    repaired += run.sent.retransmitted_packets;
    waited += run.received.slot_waits;
    duplicates += run.received.duplicate_packets;
  }
  // The seeds reach what they are for.
  REQUIRE(decoded > 0);
  REQUIRE(repaired > 0);
  REQUIRE(waited > 0);
  REQUIRE(duplicates > 0);
}

TEST_CASE("the same run recorded twice gives the same bytes") {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Recordings first = wild_run(seed), second = wild_run(seed);
    REQUIRE(first.sender == second.sender);
    REQUIRE(first.receiver == second.receiver);
  }
}

TEST_CASE("recording changes nothing: a queue pair beside it makes the same commands") {
  const test::WildSpec spec;
  QueuePairAttributes attributes;
  attributes.round_trip = spec.propagation * 2;
  test::WildHost plain_host(spec, Rng(1)), recorded_host(spec, Rng(1));
  Bytes bytes;
  QueuePair plain(attributes, plain_host);
  RecordedQueuePair recorded(attributes, recorded_host, bytes);
  std::vector<std::byte> memory(5000);
  const MemoryRegion region{memory.data(), memory.size(), 1024, 1024};
  plain.transfer_recv({}, {plain_host.register_memory(region), region, 0, memory.size()});
  recorded.transfer_recv({}, {recorded_host.register_memory(region), region, 0, memory.size()});
  plain_host.connect(plain_host);
  recorded_host.connect(recorded_host);
  EventBatch events;
  CommandBatch pending;
  for (int i = 0; i < 50; ++i) {
    const Instant due = plain_host.next_event(plain.next_wakeup());
    REQUIRE(recorded_host.next_event(recorded.next_wakeup()) == due);
    if (due == Instant::never()) break;
    const size_t taken = drive(due, plain, plain_host, events, pending);
    REQUIRE(recorded.drive(due, events, pending) == taken);
  }
  REQUIRE(equal(plain.counters(), recorded.queue_pair().counters()));
}

TEST_CASE("the hash of commands sees every field, their order and the control bytes") {
  const std::vector<std::byte> control{std::byte{1}, std::byte{2}, std::byte{3}};
  const std::vector<std::vector<Command>> different = {
      {},
      {WriteRun{}},
      {WriteRun{}, WriteRun{}},
      {WriteRun{1, 0, 0, 0, 0, 0, {}, 0, 0}},
      {WriteRun{0, 1, 0, 0, 0, 0, {}, 0, 0}},
      {WriteRun{0, 0, 1, 0, 0, 0, {}, 0, 0}},
      {WriteRun{0, 0, 0, 1, 0, 0, {}, 0, 0}},
      {WriteRun{0, 0, 0, 0, 1, 0, {}, 0, 0}},
      {WriteRun{0, 0, 0, 0, 0, 1, {}, 0, 0}},
      {WriteRun{0, 0, 0, 0, 0, 0, MemoryHandle{1}, 0, 0}},
      {WriteRun{0, 0, 0, 0, 0, 0, {}, 1, 0}},
      {WriteRun{0, 0, 0, 0, 0, 0, {}, 0, 1}},
      {ArmReceive{}},
      {ArmReceive{1, 0, {}, 0, 0, 0}},
      {ArmReceive{0, 1, {}, 0, 0, 0}},
      {ArmReceive{0, 0, MemoryHandle{1}, 0, 0, 0}},
      {ArmReceive{0, 0, {}, 1, 0, 0}},
      {ArmReceive{0, 0, {}, 0, 1, 0}},
      {ArmReceive{0, 0, {}, 0, 0, 1}},
      {ReleaseReceive{}},
      {ReleaseReceive{1, 0}},
      {ReleaseReceive{0, 1}},
      {ReleaseReceive{}, ArmReceive{}},
      {ArmReceive{}, ReleaseReceive{}},
      {SendControl{0, 1}},
      {SendControl{1, 1}},
      {SendControl{0, 2}},
  };
  std::vector<uint64_t> digests;
  for (const auto& commands : different)
    digests.push_back(recording::command_digest(commands, control, 0));
  auto changed = control;
  changed[0] ^= std::byte{1};
  digests.push_back(recording::command_digest(different.back(), changed, 0));
  std::ranges::sort(digests);
  REQUIRE(std::ranges::adjacent_find(digests) == digests.end());
  // What waited in front of the turn's own bytes does not count.
  const std::vector<std::byte> behind{std::byte{9}, std::byte{1}, std::byte{2}};
  REQUIRE(recording::command_digest(std::vector<Command>{SendControl{1, 2}}, behind, 1) ==
          recording::command_digest(std::vector<Command>{SendControl{0, 2}}, control, 0));
}

// The simulator ----------------------------------------------------------------------------------

struct SimulatedRun {
  Bytes sender;
  Bytes receiver;
  uint64_t sender_turns = 0;
  uint64_t receiver_turns = 0;
  uint64_t arrivals = 0;
};

SimulatedRun simulated_run(const char* policy, uint64_t seed, uint64_t bytes, uint32_t run_packets,
                           double loss_rate) {
  const Duration propagation = Duration::milliseconds(5);
  sim::LinkSpec link{
      400'000'000'000, 400'000'000'000, propagation, 64u << 20, 102, 4096, {}, {}, {}};
  link.loss = LossSpec::bernoulli(loss_rate);
  sim::Link forward(link, Rng(seed).fork(1)), reverse(link, Rng(seed).fork(2));
  const Capabilities capabilities{4096, run_packets, 400'000'000'000, 102, 4096, true};
  QueuePairAttributes attributes;
  attributes.connection = seed;
  attributes.policy = parse_policy(policy).policy;
  attributes.round_trip = propagation * 2;
  attributes.channels = 1;
  sim::SimBackend a(capabilities, forward, reverse, 1), b(capabilities, reverse, forward, 2);
  a.connect(b);
  b.connect(a);
  SimulatedRun run;
  RecordedQueuePair sender(attributes, a, run.sender), receiver(attributes, b, run.receiver);
  // Virtual payload: eight bytes a packet.
  std::vector<std::byte> source(bytes / 512 + 8), buffer(bytes / 512 + 8);
  const MemoryRegion from{source.data(), bytes, 4096, 8}, to{buffer.data(), bytes, 4096, 8};
  const uint64_t id = sender.transfer_send({}, {a.register_memory(from), from, 0, bytes}, 1);
  receiver.transfer_recv({}, {b.register_memory(to), to, 0, bytes});
  EventBatch events;
  CommandBatch sender_commands, receiver_commands;
  while (sender.queue_pair().send_status(id).state == TransferState::active) {
    const Instant sender_turn = a.next_event(sender.next_wakeup());
    const Instant receiver_turn = b.next_event(receiver.next_wakeup());
    if (sender_turn <= receiver_turn) {
      sender.drive(sender_turn, events, sender_commands);
      ++run.sender_turns;
    } else {
      receiver.drive(receiver_turn, events, receiver_commands);
      ++run.receiver_turns;
      run.arrivals += events.events.size();
    }
  }
  REQUIRE(sender.queue_pair().send_status(id).state == TransferState::delivered);
  sender.finish();
  receiver.finish();
  return run;
}

TEST_CASE("a recording of a simulated run replays to the same commands at both ends") {
  for (const char* policy : {"sr(nack)", "sr(rto=3rtt)", "ec(32,8)"}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const SimulatedRun run = simulated_run(policy, seed, 20'000'000, 64, 1e-3);
      INFO(policy << ", seed " << seed);
      for (const Bytes* bytes : {&run.sender, &run.receiver}) {
        const ReplayReport report = replay(*bytes);
        REQUIRE(!report.error);
        REQUIRE(!report.difference);
        REQUIRE(report.header.attributes.policy == parse_policy(policy).policy);
        REQUIRE(report.turns == (bytes == &run.sender ? run.sender_turns : run.receiver_turns));
        REQUIRE(report.covered() >= Duration::milliseconds(10));
        REQUIRE(report.commands_taken == report.commands);
      }
    }
  }
}

TEST_CASE("a turn with one arrival of 64 packets takes at most 20 bytes") {
  Bytes bytes;
  Recorder recorder({}, {4096, 64, 1, 102, 4096, true}, bytes);
  const Duration run_time = wire_time((4096 + 102) * 64, 400'000'000'000);
  size_t longest = 0;
  for (int64_t turn = 1; turn <= 1000; ++turn) {
    const Instant now = Instant{} + Duration::seconds(1000) + run_time * turn;
    EventBatch events;
    events.events.emplace_back(PacketsArrived{0, 0, 3, static_cast<uint32_t>(turn) * 64, 64, 5,
                                              now - run_time * 63 / 64, now});
    const size_t before = bytes.size();
    recorder.turn(now, events);
    recorder.outcome(0, 0, 0, 0);
    if (turn > 1) longest = std::max(longest, bytes.size() - before);
  }
  REQUIRE(longest <= 20);
  // With the FEEDBACK that answers it, and the ticks between.
  const SimulatedRun run = simulated_run("sr(nack)", 1, 100'000'000, 64, 1e-4);
  REQUIRE(run.receiver.size() < (run.arrivals + run.receiver_turns) * 32);
}

// Refusals ---------------------------------------------------------------------------------------

TEST_CASE("a recording cut short is refused at every length") {
  const Bytes recording = wild_run(3).sender;
  const size_t step = 1 + recording.size() / 4000;
  for (size_t length = 0; length < recording.size(); length += length < 2000 ? 1 : step) {
    const ReplayReport report = replay(std::span(recording).first(length));
    INFO("length " << length);
    REQUIRE(report.error);
    REQUIRE(report.error->position <= length);
    REQUIRE(!report.error->remedy.empty());
    REQUIRE(!report.difference);
    if (length >= recording::kMagic.size())
      REQUIRE(report.error->what == "the recording is cut short");
  }
  Bytes longer = recording;
  longer.push_back({});
  REQUIRE(replay(longer).error);
}

TEST_CASE("what is not a recording, or of another version, is refused") {
  REQUIRE(replay({}).error->what == "this is not a recording");
  Bytes recording = wild_run(3).sender;
  Bytes other = recording;
  other[0] ^= std::byte{1};
  REQUIRE(replay(other).error->what == "this is not a recording");
  recording[recording::kMagic.size()] = std::byte{recording::kVersion + 1};
  REQUIRE(replay(recording).error->what.find("version 2") != std::string::npos);
}

}  // namespace
}  // namespace longhaul
