#pragma once

/// `longhaul replay`: repeats a recording of a queue pair and compares the commands.

#include <string>

namespace longhaul {

struct ReplayCommand {
  std::string file;
  bool verbose = false;  ///< print every turn, events and commands in words
};

/// Returns kExitPassed, or kExitFailed when the commands differ. Throws SetupError when the file
/// cannot be read, is no recording, is cut short or damaged.
int replay_command(const ReplayCommand& command);

}  // namespace longhaul
