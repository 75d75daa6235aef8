#pragma once

/// A scenario file after parsing: what to run, and what to expect. scenarios/README.md is the
/// reference of the format.

#include <cstdint>
#include <string>
#include <vector>

#include "core/reliability/policy_spec.h"
#include "sim/experiment.h"

namespace longhaul {

/// One combination of the swept settings; every policy runs at every point.
struct Point {
  /// The swept settings that tell this point from the others, as ("path.distance", "3750 km") in
  /// the order of the file; empty when nothing is swept.
  std::vector<std::pair<std::string, std::string>> labels;
  sim::PathSpec path;
  uint64_t message_bytes = 0;
  sim::Payload payload = sim::Payload::real;
  /// Why the payload is virtual, for the output; empty when it is real.
  std::string payload_note;
  uint32_t chunk_packets = 16;
  Duration give_up{};
};

/// A condition on the results that decides the exit code.
struct Expectation {
  enum class Metric {
    delivered_all,
    mean_slowdown,
    p50_slowdown,
    p99_slowdown,
    p999_slowdown,
    max_slowdown,
    mean_regret,
    p50_regret,
    p99_regret,
    p999_regret,
    max_regret,
    wire_overhead,         ///< wire bytes / payload bytes
    retransmitted_packets  ///< total over the samples of a point
  };
  Metric metric = Metric::delivered_all;
  /// Canonical policy name; empty: every policy.
  std::string policy;
  /// Holds at every point when the value is below / above these; infinities when absent.
  double below;
  double above;
  std::string text;   ///< as written, for the output
  std::string where;  ///< file:line:column
};

struct Scenario {
  std::string file;  ///< as named on the command line
  std::string name;
  std::string description;
  std::vector<Point> points;
  std::vector<PolicySpec> policies;
  std::vector<uint64_t> seeds;
  uint64_t messages_per_seed = 1;
  std::vector<Expectation> expectations;
  /// Every effective setting, defaults included, as ("path.rate", "400 Gb/s"); swept ones list all
  /// their values. For the output.
  std::vector<std::pair<std::string, std::string>> effective;
};

/// Command-line changes to a scenario.
struct ScenarioOverrides {
  /// `--set path.loss.rate=1e-3`: key and value, the value read as YAML.
  std::vector<std::string> settings;
  /// `--seed N`: replaces the scenario's seeds by as many, counted from N.
  bool has_seed = false;
  uint64_t seed = 0;
};

/// Reads and expands a scenario. Throws SetupError with file:line:column, what is wrong, and the
/// nearest valid key or unit.
Scenario load_scenario(const std::string& file, const ScenarioOverrides& overrides);

}  // namespace longhaul
