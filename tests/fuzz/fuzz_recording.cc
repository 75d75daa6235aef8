/// Any bytes as a recording: hostile attributes, posts, events and answers. The replay may refuse
/// or find differences; it may not crash, nor take memory that the bytes do not justify.
///
/// It goes on after the first difference, or no changed input would get far.

#include <cstdint>

#include "core/base/check.h"
#include "core/transfer/command_text.h"
#include "core/transfer/replay.h"

using namespace longhaul;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ReplayOptions options;
  options.keep_going = true;
  options.limits = {uint64_t{1} << 22, Duration::seconds(4)};
  uint64_t turns = 0;
  size_t letters = 0;
  options.on_turn = [&](const ReplayedTurn& turn) {
    LONGHAUL_CHECK(turn.number == turns++);
    if (turns > 64) return;  // words take longer than what they describe
    for (const Command& command : turn.commands.commands)
      letters += describe(command, turn.commands.control_bytes).size();
    for (const Event& event : turn.events.events)
      letters += describe(event, turn.events.control_bytes).size();
  };
  const ReplayReport report = replay({reinterpret_cast<const std::byte*>(data), size}, options);
  LONGHAUL_CHECK(report.turns <= turns + 1);
  LONGHAUL_CHECK(!report.error || (report.error->position <= size && !report.error->what.empty()));
  return letters == ~size_t{0} ? 1 : 0;
}
