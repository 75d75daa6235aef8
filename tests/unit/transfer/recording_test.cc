#include "core/transfer/recording.h"

#include <algorithm>

#include "core/transfer/replay.h"
#include "sim/link.h"
#include "sim/sim_backend.h"
#include "tests/catch.h"
#include "tests/unit/transfer/recorded_pair.h"

namespace longhaul {
namespace {

using Bytes = std::vector<std::byte>;

struct Recordings {
  Bytes sender;
  Bytes receiver;
  QueuePairCounters sent;
  QueuePairCounters received;
};

PolicySpec policy_of(uint64_t seed) {
  constexpr std::array kPolicies = {"sr(nack)", "sr(rto=1.5rtt)", "ec(4,2)",
                                    "ec(8,1,fallback=0.1rtt)"};
  PolicySpec policy = parse_policy(kPolicies[seed % kPolicies.size()]).policy;
  // What the name of a code does not say is recorded all the same.
  if (seed % 8 == 3) policy.detection = PolicySpec::Detection::rto;
  return policy;
}

test::WildSpec wild_spec(Rng& rng, Instant start) {
  test::WildSpec spec;
  spec.mtu_bytes = 1024;
  spec.propagation = Duration::microseconds(static_cast<int64_t>(rng.between(10, 5000)));
  spec.data_loss = 0.2 * rng.open_unit();
  spec.control_loss = 0.2 * rng.open_unit();
  spec.duplication = 0.1 * rng.open_unit();
  spec.jitter = Duration{spec.propagation.ps / 2};
  spec.calm_from = start + spec.propagation * 60;
  return spec;
}

QueuePairAttributes attributes_of(uint64_t seed, const test::WildSpec& spec) {
  QueuePairAttributes attributes;
  attributes.connection = mix64(seed);
  attributes.policy = policy_of(seed);
  attributes.round_trip = spec.propagation * 2;
  attributes.channels = static_cast<uint8_t>(1 + seed % 3);
  attributes.generations = 2;
  if (seed % 2 == 0) attributes.quarantine = Duration::microseconds(50);
  if (seed % 5 == 0) attributes.max_messages = 3;  // some receives find no slot
  return attributes;
}

/// A plain message a round: opened, sent in two parts, completed by the receiver, forgotten.
void exchange_message(test::RecordedPair& pair, Rng& rng, Instant limit) {
  test::RecordedHost& sender = pair.sender;
  test::RecordedHost& receiver = pair.receiver;
  const size_t bytes = rng.between(1, 60'000);
  const auto slice = receiver.memory(bytes, 0);
  const auto in = receiver.queue_pair.recv_post(pair.now, slice);
  if (!in) return;
  const uint64_t out =
      sender.queue_pair.send_start(pair.now, sender.memory(bytes, 7), 0xabcd1234);
  const uint64_t packets = sender.queue_pair.queue_pair().send_message(out).packets();
  sender.queue_pair.send_continue(pair.now, out, 0, packets);
  const auto injected = [&] {
    return sender.queue_pair.queue_pair().send_message_status(out).state != SendState::waiting;
  };
  pair.run(limit, injected);
  sender.queue_pair.send_continue(pair.now, out, packets / 2, packets - packets / 2);
  sender.queue_pair.send_end(pair.now, out);
  pair.run(limit, injected);
  pair.run(pair.now + Duration::milliseconds(20), [&] {
    return receiver.queue_pair.queue_pair().recv_message(*in).all_arrived();
  });
  receiver.queue_pair.recv_complete(pair.now, *in);
  pair.run(limit, [&] {
    return sender.queue_pair.queue_pair().send_message_status(out).state == SendState::completed;
  });
  sender.queue_pair.forget_send_message(out);
}

/// Transfers and plain messages, until all have ended and are forgotten.
Recordings wild_run(uint64_t seed, size_t most_commands = ~size_t{0}) {
  Rng rng = Rng(seed).fork(0);
  const Instant start = Instant{} + Duration::seconds(static_cast<int64_t>(rng.below(1000)));
  const test::WildSpec spec = wild_spec(rng, start);
  test::RecordedPair pair(spec, attributes_of(seed, spec), seed, most_commands);
  pair.now = start;
  auto& sender = pair.sender.queue_pair;
  auto& receiver = pair.receiver.queue_pair;
  const Instant limit = pair.now + Duration::seconds(50);
  const size_t transfers = rng.between(1, 3);
  for (size_t i = 0; i < transfers; ++i) {
    const size_t bytes = rng.below(200) * 1024 + rng.below(2);
    sender.transfer_send(pair.now, pair.sender.memory(bytes, seed + i),
                         static_cast<uint32_t>(seed));
    receiver.transfer_recv(pair.now, pair.receiver.memory(bytes + rng.below(2000), 0));
  }
  if (seed % 2 == 1) exchange_message(pair, rng, limit);
  pair.run(limit, [&] {
    for (uint64_t id = 0; id < transfers; ++id) {
      if (!sender.queue_pair().send_released(id)) return false;
    }
    return true;
  });
  for (uint64_t id = 0; id < transfers; ++id) {
    REQUIRE(sender.queue_pair().send_status(id).state == TransferState::delivered);
    sender.forget_send(id);
    receiver.forget_recv(id);
  }
  exchange_message(pair, rng, limit);
  sender.finish();
  receiver.finish();
  return {pair.sender.recording, pair.receiver.recording, sender.queue_pair().counters(),
          receiver.queue_pair().counters()};
}

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
  uint64_t decoded = 0, repaired = 0, waited = 0, messages = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    INFO("seed " << seed);
    const Recordings run = wild_run(seed, seed % 3 == 0 ? 5 : ~size_t{0});
    require_same(run.sender, run.sent);
    require_same(run.receiver, run.received);
    decoded += run.received.decoded_packets;
    repaired += run.sent.retransmitted_packets;
    waited += run.received.slot_waits;
    messages += run.received.duplicate_packets;
  }
  // The seeds reach what they are for.
  REQUIRE(decoded > 0);
  REQUIRE(repaired > 0);
  REQUIRE(waited > 0);
  REQUIRE(messages > 0);
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
  sim::LinkSpec link{400'000'000'000, 400'000'000'000, propagation, 64u << 20, 102, 4096, {}, {}, {}};
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

// Differences ------------------------------------------------------------------------------------

/// Turns of a recording, by number, as a replay sees them.
std::vector<Instant> turn_times(const Bytes& recording) {
  std::vector<Instant> times;
  ReplayOptions options;
  options.on_turn = [&](const ReplayedTurn& turn) {
    REQUIRE(turn.number == times.size());
    REQUIRE(turn.same);
    times.push_back(turn.now);
  };
  replay(recording, options);
  return times;
}

/// Positions of the turn records.
std::vector<uint64_t> turn_positions(const Bytes& recording) {
  std::vector<uint64_t> positions;
  RecordingReader reader(recording);
  for (; !reader.error() && reader.current<RecordedEnd>() == nullptr; reader.next()) {
    if (reader.current<RecordedTurn>() != nullptr) positions.push_back(reader.position());
  }
  REQUIRE(!reader.error());
  return positions;
}

TEST_CASE("a changed byte of an event is noticed in its turn or as soon as it matters") {
  const Bytes recording = wild_run(1).sender;
  const auto times = turn_times(recording);
  const auto positions = turn_positions(recording);
  REQUIRE(times.size() == positions.size());
  size_t at_once = 0, checked = 0;
  for (size_t turn = 0; turn < positions.size(); ++turn) {
    // A CTS, BEGIN, ... is never answered when its version byte is wrong.
    RecordingReader reader(recording);
    const auto tag = [&](size_t at) { return std::to_integer<unsigned>(recording[at]) & 15; };
    size_t at = positions[turn] + 1;
    while (std::to_integer<unsigned>(recording[at]) >= 128) ++at;
    ++at;
    if (tag(at) != static_cast<unsigned>(recording::Record::control)) continue;
    Bytes changed = recording;
    const size_t version = at + (std::to_integer<unsigned>(recording[at + 1]) >= 128 ? 3 : 2);
    REQUIRE(changed[version] == std::byte{kControlVersion});
    changed[version] ^= std::byte{0x40};
    const ReplayReport report = replay(changed);
    REQUIRE(!report.error);
    ++checked;
    if (!report.difference) continue;  // a repetition that said nothing new
    REQUIRE(report.difference->turn >= turn);
    REQUIRE(report.difference->now == times[report.difference->turn]);
    at_once += report.difference->turn == turn;
  }
  REQUIRE(checked > 10);
  REQUIRE(at_once > 0);
}

TEST_CASE("the clear-to-send made unreadable is missed in the very turn that it started") {
  Bytes recording = wild_run(4).sender;
  const auto positions = turn_positions(recording);
  uint64_t first_write = ~uint64_t{0};
  ReplayOptions options;
  options.on_turn = [&](const ReplayedTurn& turn) {
    for (const Command& command : turn.commands.commands) {
      if (std::holds_alternative<WriteRun>(command)) first_write = std::min(first_write, turn.number);
    }
  };
  replay(recording, options);
  REQUIRE(first_write < positions.size());
  // Every control message of that turn gets another connection.
  const uint64_t end = positions.at(first_write + 1);
  for (uint64_t at = positions[first_write]; at + 2 < end; ++at) {
    if (recording[at] == std::byte{kControlVersion} && recording[at + 1] == std::byte{1})
      recording[at + 9] ^= std::byte{1};
  }
  const ReplayReport report = replay(recording);
  REQUIRE(!report.error);
  REQUIRE(report.difference);
  REQUIRE(report.difference->turn == first_write);
  REQUIRE(report.difference->recorded_commands > report.difference->replayed_commands);
  REQUIRE(report.turns == first_write + 1);
}

TEST_CASE("another policy is noticed at the turn where it first decides otherwise") {
  const Bytes recording = wild_run(5).sender;  // sr(rto=1.5rtt)
  Bytes changed;
  {
    const RecordingHeader header = RecordingReader(recording).header();
    QueuePairAttributes attributes = header.attributes;
    REQUIRE(attributes.policy.name() == "sr(rto=1.5rtt)");
    Bytes before, after;
    Recorder(attributes, header.capabilities, before);
    attributes.policy = parse_policy("sr(rto=4rtt)").policy;
    Recorder(attributes, header.capabilities, after);
    REQUIRE(std::equal(before.begin(), before.end(), recording.begin()));
    changed = after;
    changed.insert(changed.end(), recording.begin() + static_cast<std::ptrdiff_t>(before.size()),
                   recording.end());
  }
  // The first repair: nothing before it depends on the time-out.
  uint64_t first_repair = ~uint64_t{0};
  std::map<std::pair<MemoryHandle, uint64_t>, int> sent;
  ReplayOptions options;
  options.on_turn = [&](const ReplayedTurn& turn) {
    for (const Command& command : turn.commands.commands) {
      const auto* write = std::get_if<WriteRun>(&command);
      if (write == nullptr || write->user_immediate != 5) continue;  // a plain message's
      for (uint32_t i = 0; i < write->packet_count; ++i) {
        if (++sent[{write->source, write->source_offset + uint64_t{i} * 1024}] > 1)
          first_repair = std::min(first_repair, turn.number);
      }
    }
  };
  replay(recording, options);
  REQUIRE(first_repair != ~uint64_t{0});
  const ReplayReport report = replay(changed);
  REQUIRE(!report.error);
  REQUIRE(report.difference);
  REQUIRE(report.difference->turn == first_repair);
  REQUIRE(report.header.attributes.policy.name() == "sr(rto=4rtt)");
}

TEST_CASE("a changed answer of the coder is noticed where it is told to the peer") {
  Bytes recording = wild_run(4).receiver;
  RecordingReader reader(recording);
  uint64_t turns = 0;
  while (reader.current<RecordedChecksum>() == nullptr) {
    REQUIRE(!reader.error());
    turns += reader.current<RecordedTurn>() != nullptr;
    reader.next();
  }
  recording[reader.position() + 3] ^= std::byte{8};
  const ReplayReport report = replay(recording);
  REQUIRE(report.difference);
  REQUIRE(report.difference->turn == turns - 1);  // COMPLETE carries it
  REQUIRE(report.difference->recorded_commands == report.difference->replayed_commands);
}

TEST_CASE("a replay that keeps going reports the first difference and the whole of the recording") {
  Bytes recording = wild_run(2).sender;
  const auto turns = turn_positions(recording).size();
  RecordingReader reader(recording);
  while (reader.current<RecordedOutcome>() == nullptr ||
         reader.current<RecordedOutcome>()->commands == 0)
    reader.next();
  recording[reader.position() + 4] ^= std::byte{1};  // of the hash
  ReplayOptions options;
  options.keep_going = true;
  size_t different = 0;
  options.on_turn = [&](const ReplayedTurn& turn) { different += !turn.same; };
  const ReplayReport report = replay(recording, options);
  REQUIRE(!report.error);
  REQUIRE(report.difference);
  REQUIRE(report.turns == turns);
  REQUIRE(different == 1);
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
