#pragma once

/// What a run produced: the samples of every (point, policy), and where they came from.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/experiment.h"
#include "tools/longhaul/scenario.h"

namespace longhaul {

/// All samples of one policy at one point, ordered by (seed, message index).
struct Series {
  size_t point = 0;   ///< index into Scenario::points
  size_t policy = 0;  ///< index into Scenario::policies
  std::vector<sim::MessageSample> samples;
  std::vector<uint64_t> seeds;     ///< of each sample
  std::vector<uint64_t> messages;  ///< index within its seed, of each sample
};

struct Results {
  Scenario scenario;
  /// Point-major, policies in the order of the file. After an interruption a series holds the
  /// samples that were finished, maybe none.
  std::vector<Series> series;
  bool complete = true;  ///< false after Ctrl-C
  uint64_t samples_wanted = 0;
  double wall_seconds = 0;
  std::string commit;   ///< of the build, "-dirty" appended when it had local changes
  std::string command;  ///< repeats this run
  std::string backend = "sim";
};

}  // namespace longhaul
