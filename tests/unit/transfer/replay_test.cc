#include "core/transfer/replay.h"

#include <algorithm>
#include <map>

#include "core/transfer/recording.h"
#include "tests/catch.h"
#include "tests/unit/transfer/recorded_runs.h"

namespace longhaul {
namespace {

using test::wild_run;
using Bytes = std::vector<std::byte>;

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
      if (std::holds_alternative<WriteRun>(command))
        first_write = std::min(first_write, turn.number);
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

}  // namespace
}  // namespace longhaul
