#pragma once

/// What the samples say: statistics of every series, who wins, which expectations hold. Everything
/// that the outputs show is worked out here, once.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/sdr/diagnose.h"
#include "tools/longhaul/results.h"
#include "tools/longhaul/statistics.h"

namespace longhaul {

/// Times and ratios are of the delivered messages; bytes and packets are of all.
struct SeriesSummary {
  size_t point = 0;
  size_t policy = 0;
  uint64_t samples = 0;
  uint64_t delivered = 0;
  uint64_t failed = 0;
  uint64_t corrupt = 0;
  std::string first_failure;  ///< of a sample that was not delivered; empty when all were

  Distribution completion_ps;
  Distribution slowdown;  ///< completion / ideal, per sample
  Distribution regret;    ///< completion / oracle, per sample
  Distribution setup_ps;
  std::optional<double> mean_ideal_ps;
  std::optional<double> mean_oracle_ps;

  /// Totals over the samples.
  uint64_t payload_bytes = 0;
  uint64_t wire_bytes = 0;
  uint64_t oracle_wire_bytes = 0;
  uint64_t data_packets = 0;
  uint64_t retransmitted_packets = 0;
  uint64_t parity_packets = 0;
  uint64_t control_packets = 0;
  uint64_t lost_packets = 0;
  uint64_t lost_control_packets = 0;
  uint64_t queue_drops = 0;
  uint64_t duplicate_packets = 0;
  uint64_t decoded_packets = 0;
  uint64_t fallbacks = 0;
  QueuePairCounters sender;       ///< everything that the sending ends counted
  QueuePairCounters receiver;     ///< and the receiving ends
  std::vector<Finding> findings;  ///< what these say is wrong, worst first

  /// Ratios of totals; absent where the divisor is 0, as for messages of 0 bytes.
  std::optional<double> wire_per_payload() const;
  std::optional<double> wire_per_oracle() const;
  /// Of the data direction's packets: first transmissions, retransmissions and parity.
  std::optional<double> retransmitted_share() const;
  std::optional<double> parity_share() const;
};

/// How deep into the tail the number of samples reaches.
enum class Tail { max, p999 };

/// Who finishes first at the tail of one point. A policy that failed to deliver ranks behind all
/// that delivered, by number of failures.
struct Verdict {
  /// The policy that finishes first, and those less than 1 % behind it, best first. Empty without a
  /// delivered sample.
  std::vector<size_t> leaders;
  std::optional<size_t> runner_up;  ///< best of the others; absent when all are level
  std::optional<size_t> slowest;    ///< worst of the others that delivered every message
  /// Tail completion of runner-up (slowest) / that of the first; absent when it lost messages.
  std::optional<double> lead;
  std::optional<double> lead_on_slowest;
  /// The policy with the shortest mean, where that is at least 1 % below the leaders': tail and
  /// average then disagree. It delivered every message.
  std::optional<size_t> first_on_average;
  double lead_on_average = 1;  ///< mean of the first at the tail / the shortest mean
  bool uncertain = false;      ///< the 95 % intervals of first and runner-up overlap
  std::string text;            ///< one sentence

  bool leads(size_t policy) const;
  /// Several policies, and none behind.
  bool level() const { return leaders.size() > 1 && !runner_up; }
};

struct ExpectationResult {
  bool passed = false;
  /// False when there was nothing to measure, as after an interruption; then `passed` is false.
  bool measured = false;
  double worst = 0;  ///< the value nearest to failing, or furthest beyond
  std::string text;  ///< "1.31 at distance 3750 km (sr(nack)), wanted below 1.2"
};

struct Summary {
  Tail tail = Tail::max;
  std::vector<SeriesSummary> series;            ///< as Results::series
  std::vector<Verdict> verdicts;                ///< by point
  std::string headline;                         ///< one sentence over all points
  std::vector<ExpectationResult> expectations;  ///< as Scenario::expectations
  std::vector<std::string> warnings;
  /// Findings of more than a note, each kind once, with the series that it was found in.
  std::vector<std::string> diagnosis;

  /// Exit code 0 or 1: every expectation holds and nothing was corrupt.
  bool passed = true;

  /// The series of (point, policy), or nullptr.
  const SeriesSummary* find(size_t point, size_t policy) const;
};

Summary summarize(const Results& results);

/// "p99.9" or "max", and the same inside a sentence: "p99.9" or "the maximum".
const char* tail_name(Tail tail);
const char* tail_words(Tail tail);
const Estimate& tail_of(const Distribution& distribution, Tail tail);

}  // namespace longhaul
