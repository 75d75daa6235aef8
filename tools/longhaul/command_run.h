#pragma once

/// `longhaul run`: from a scenario file to table, result.json and report.html.

#include <string>

#include "tools/longhaul/runner.h"
#include "tools/longhaul/scenario.h"

namespace longhaul {

struct RunCommand {
  std::string program = "longhaul";  ///< as called, for the command that repeats the run
  std::string scenario_file;
  ScenarioOverrides overrides;
  std::string out;   ///< folder; empty: out/<scenario name>
  std::string json;  ///< a further copy of result.json: a file, or "-" for standard output
  bool quiet = false;
  bool dry_run = false;
  unsigned jobs = 0;  ///< 0: one per core, or fewer where memory is short
};

inline constexpr int kExitPassed = 0;
inline constexpr int kExitFailed = 1;         ///< an expectation failed, or a message was corrupt
inline constexpr int kExitSetup = 2;          ///< nothing was run
inline constexpr int kExitInterrupted = 130;  ///< 128 + SIGINT, as shells count

/// Returns the exit code. Throws SetupError. Takes SIGINT and SIGTERM over while it runs.
int run_command(const RunCommand& command, const SimulateFunction& simulate);

/// The command line that repeats `command`, quoted for a shell.
std::string repeat_command(const RunCommand& command);

/// out/<scenario name>, the name reduced to characters that are safe in a path.
std::string default_output_folder(const std::string& scenario_name);

}  // namespace longhaul
