#include "tools/longhaul/command_replay.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "core/base/error.h"
#include "core/transfer/command_text.h"
#include "core/transfer/replay.h"
#include "core/wire/control.h"
#include "tools/longhaul/command_run.h"
#include "tools/longhaul/units.h"

namespace longhaul {
namespace {

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::vector<std::byte> read_file(const std::string& name) {
  const auto fail = [&](const char* what) {
    throw SetupError(name, what, "Name a recording that can be read.");
  };
  if (std::filesystem::is_directory(name)) fail("this is a folder");
  std::ifstream file(name, std::ios::binary | std::ios::ate);
  if (!file) fail("cannot open the file");
  const std::streamoff size = file.tellg();
  std::vector<std::byte> bytes(size > 0 ? static_cast<size_t>(size) : 0);
  file.seekg(0);
  // Streams are in characters; a recording's bytes may be written through them.
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) fail("cannot read the file");
  return bytes;
}

void print_turn(const ReplayedTurn& turn, Instant first) {
  std::string text = fmt::format("turn {} at +{}{}\n", turn.number,
                                 format_duration(turn.now - first), turn.same ? "" : ": differs");
  for (const Event& event : turn.events.events)
    text += "  < " + describe(event, turn.events.control_bytes) + "\n";
  for (const Command& command : turn.commands.commands)
    text += "  > " + describe(command, turn.commands.control_bytes) + "\n";
  print(text);
}

std::string describe_report(const ReplayCommand& command, const ReplayReport& report) {
  std::string text = fmt::format(
      "{}: {}\n"
      "  turns     {}\n"
      "  posts     {}\n"
      "  events    {}\n"
      "  commands  {}, of which the backend had taken {} when the recording ended\n"
      "  covered   {}\n",
      command.file, report.header.attributes.policy.name(), format_count(report.turns),
      format_count(report.posts), format_count(report.events), format_count(report.commands),
      format_count(report.commands_taken), format_duration(report.covered()));
  for (const CounterField& field : counter_fields()) {
    if (const uint64_t value = report.counters.*field.value; value != 0)
      text += fmt::format("  {:<22} {}\n", field.name, format_count(value));
  }
  return text;
}

std::string describe_difference(const ReplayReport& report) {
  const ReplayDifference& difference = *report.difference;
  std::string text = fmt::format(
      "DIFFERENT at turn {}, {} after the beginning: {}\n"
      "  commands recorded {}, replayed {}\n",
      difference.turn, format_duration(difference.now - report.first), difference.what,
      difference.recorded_commands, difference.replayed_commands);
  if (report.header.control_version != kControlVersion) {
    text +=
        fmt::format("  Recorded with control messages of version {}; these are of version {}.\n",
                    report.header.control_version, kControlVersion);
  }
  return text;
}

}  // namespace

int replay_command(const ReplayCommand& command) {
  const std::vector<std::byte> recording = read_file(command.file);
  ReplayOptions options;
  std::optional<Instant> first;
  if (command.verbose) {
    options.on_turn = [&](const ReplayedTurn& turn) {
      if (!first) first = turn.now;
      print_turn(turn, *first);
    };
  }
  const ReplayReport report = replay(recording, options);
  if (report.error && !report.difference) {
    throw SetupError(
        fmt::format("{}: byte {}", command.file, report.error->position),
        report.error->what + (report.turns == 0
                                  ? std::string()
                                  : fmt::format(" (as recorded before it: {} turn{})", report.turns,
                                                report.turns == 1 ? "" : "s")),
        report.error->remedy);
  }
  print(describe_report(command, report));
  if (report.difference) {
    print(describe_difference(report));
    return kExitFailed;
  }
  print("All commands are as recorded.\n");
  return kExitPassed;
}

}  // namespace longhaul
