#include "tools/longhaul/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/longhaul/expectations.h"
#include "tools/longhaul/text.h"
#include "tools/longhaul/verdict.h"

namespace longhaul {

namespace {

constexpr size_t kListed = 3;  // points named in a warning

std::optional<double> ratio(uint64_t dividend, uint64_t divisor) {
  if (divisor == 0) return std::nullopt;
  return static_cast<double>(dividend) / static_cast<double>(divisor);
}

void count_sample(const sim::MessageSample& sample, SeriesSummary& summary) {
  ++summary.samples;
  if (sample.outcome == sim::Outcome::delivered) ++summary.delivered;
  if (sample.outcome == sim::Outcome::failed) ++summary.failed;
  if (sample.outcome == sim::Outcome::corrupt) ++summary.corrupt;
  if (sample.outcome != sim::Outcome::delivered && summary.first_failure.empty()) {
    summary.first_failure = sample.failure.empty() ? "no reason given" : sample.failure;
  }
  summary.payload_bytes += sample.payload_bytes;
  summary.wire_bytes += sample.wire_bytes;
  summary.oracle_wire_bytes += sample.oracle_wire_bytes;
  summary.data_packets += sample.data_packets;
  summary.retransmitted_packets += sample.retransmitted_packets;
  summary.parity_packets += sample.parity_packets;
  summary.control_packets += sample.control_packets;
  summary.lost_packets += sample.lost_packets;
  summary.lost_control_packets += sample.lost_control_packets;
  summary.queue_drops += sample.queue_drops;
  summary.duplicate_packets += sample.duplicate_packets;
  summary.decoded_packets += sample.decoded_packets;
  summary.fallbacks += sample.fallbacks;
  summary.sender += sample.sender;
  summary.receiver += sample.receiver;
}

std::vector<Finding> findings_of(const Scenario& scenario, const SeriesSummary& series) {
  const Point& point = scenario.points[series.point];
  DiagnosisInput input;
  input.sender = series.sender;
  input.receiver = series.receiver;
  input.transfers = series.samples;
  input.policy = scenario.policies[series.policy];
  input.message_bytes = point.message_bytes;
  input.mtu_bytes = point.path.mtu_bytes;
  input.header_bytes = point.path.header_bytes;
  input.chunk_packets = point.chunk_packets;
  return diagnose(input);
}

SeriesSummary summarize_series(const Series& series) {
  SeriesSummary summary;
  summary.point = series.point;
  summary.policy = series.policy;
  std::vector<double> completion, slowdown, regret, setup, ideal, oracle;
  for (const sim::MessageSample& sample : series.samples) {
    count_sample(sample, summary);
    if (sample.outcome != sim::Outcome::delivered) continue;
    const auto time = static_cast<double>(sample.completion.ps);
    completion.push_back(time);
    setup.push_back(static_cast<double>(sample.setup.ps));
    ideal.push_back(static_cast<double>(sample.ideal.ps));
    oracle.push_back(static_cast<double>(sample.oracle.ps));
    if (sample.ideal.ps > 0) slowdown.push_back(time / ideal.back());
    if (sample.oracle.ps > 0) regret.push_back(time / oracle.back());
  }
  summary.mean_ideal_ps = mean_estimate(ideal).value;
  summary.mean_oracle_ps = mean_estimate(oracle).value;
  summary.completion_ps = describe(completion);
  summary.slowdown = describe(slowdown);
  summary.regret = describe(regret);
  summary.setup_ps = describe(setup);
  return summary;
}

std::string where(const Results& results, const SeriesSummary& series) {
  const Scenario& scenario = results.scenario;
  std::string text = scenario.policies[series.policy].name();
  if (scenario.points.size() > 1) text += " at " + point_title(scenario.points[series.point]);
  return text;
}

void warn_of_failures(const Results& results, Summary& summary) {
  std::vector<std::string> failed;
  std::string reason;
  for (const SeriesSummary& series : summary.series) {
    if (series.corrupt > 0) {
      summary.passed = false;
      summary.warnings.push_back(
          fmt::format("{}: {} of {} messages arrived CORRUPT: a bug in Longhaul, please report it "
                      "with result.json",
                      where(results, series), series.corrupt, series.samples));
    }
    if (series.failed == 0) continue;
    failed.push_back(
        fmt::format("{} ({} of {})", where(results, series), series.failed, series.samples));
    if (reason.empty()) reason = series.first_failure;
  }
  if (failed.empty()) return;
  summary.warnings.push_back(
      fmt::format("not delivered: {}; the first: {}. Times are of the delivered messages only",
                  join_some(failed, kListed), reason));
}

bool loss_was_seen(const Summary& summary, size_t point) {
  return std::any_of(
      summary.series.begin(), summary.series.end(), [&](const SeriesSummary& series) {
        return series.point == point && series.lost_packets + series.lost_control_packets > 0;
      });
}

void warn_of_unseen_loss(const Results& results, Summary& summary) {
  std::vector<std::string> points;
  for (size_t i = 0; i < results.scenario.points.size(); ++i) {
    const Point& point = results.scenario.points[i];
    const bool ran =
        std::any_of(summary.series.begin(), summary.series.end(),
                    [&](const auto& series) { return series.point == i && series.samples > 0; });
    if (!ran || (!can_lose(point.path.loss) && !can_lose(point.path.reverse_loss))) continue;
    if (!loss_was_seen(summary, i)) points.push_back(point_title(point));
  }
  if (points.empty()) return;
  summary.warnings.push_back(
      fmt::format("loss was asked for, but not one packet was lost at {}: these results say "
                  "nothing about recovery; "
                  "ask for more seeds or a higher loss",
                  join_some(points, kListed)));
}

void warn_of_queue_drops(const Results& results, Summary& summary) {
  std::vector<std::string> dropped;
  for (const SeriesSummary& series : summary.series) {
    if (series.queue_drops > 0) {
      dropped.push_back(fmt::format("{} ({} packets)", where(results, series), series.queue_drops));
    }
  }
  if (dropped.empty()) return;
  summary.warnings.push_back("the queue in front of the link overflowed: " +
                             join_some(dropped, kListed));
}

void collect_diagnosis(const Results& results, Summary& summary) {
  struct Kind {
    const Finding* first;
    std::vector<std::string> places;
  };
  std::vector<Kind> kinds;
  for (const SeriesSummary& series : summary.series) {
    for (const Finding& finding : series.findings) {
      if (finding.severity == Severity::note) continue;
      const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& kind) {
        return kind.first->name == finding.name;
      });
      if (same != kinds.end()) {
        same->places.push_back(where(results, series));
      } else {
        kinds.push_back({&finding, {where(results, series)}});
      }
    }
  }
  for (const Kind& kind : kinds) {
    summary.diagnosis.push_back(fmt::format("{} ({}) at {}: {}", kind.first->name,
                                            severity_name(kind.first->severity),
                                            join_some(kind.places, kListed), kind.first->text));
  }
}

}  // namespace

std::optional<double> SeriesSummary::wire_per_payload() const {
  return ratio(wire_bytes, payload_bytes);
}

std::optional<double> SeriesSummary::wire_per_oracle() const {
  return ratio(wire_bytes, oracle_wire_bytes);
}

std::optional<double> SeriesSummary::retransmitted_share() const {
  return ratio(retransmitted_packets, data_packets + retransmitted_packets + parity_packets);
}

std::optional<double> SeriesSummary::parity_share() const {
  return ratio(parity_packets, data_packets + retransmitted_packets + parity_packets);
}

const SeriesSummary* Summary::find(size_t point, size_t policy) const {
  for (const SeriesSummary& candidate : series) {
    if (candidate.point == point && candidate.policy == policy) return &candidate;
  }
  return nullptr;
}

bool Verdict::leads(size_t policy) const {
  return std::find(leaders.begin(), leaders.end(), policy) != leaders.end();
}

const char* tail_name(Tail tail) { return tail == Tail::p999 ? "p99.9" : "max"; }

const char* tail_words(Tail tail) { return tail == Tail::p999 ? "p99.9" : "the maximum"; }

const Estimate& tail_of(const Distribution& distribution, Tail tail) {
  return tail == Tail::p999 ? distribution.p999 : distribution.max;
}

Summary summarize(const Results& results) {
  Summary summary;
  uint64_t fewest = ~uint64_t{0};
  for (const Series& series : results.series) {
    summary.series.push_back(summarize_series(series));
    if (!series.samples.empty())
      summary.series.back().findings = findings_of(results.scenario, summary.series.back());
    // What an interruption left out does not decide how the rest is shown.
    if (!series.samples.empty()) fewest = std::min<uint64_t>(fewest, series.samples.size());
  }
  const bool any = fewest != ~uint64_t{0};
  summary.tail = any && fewest >= kSamplesForP999 ? Tail::p999 : Tail::max;
  if (!results.complete) {
    uint64_t finished = 0;
    for (const SeriesSummary& series : summary.series) finished += series.samples;
    summary.warnings.push_back(
        fmt::format("interrupted: {} of {} samples were finished, and only they are shown",
                    finished, results.samples_wanted));
  }
  warn_of_failures(results, summary);
  warn_of_unseen_loss(results, summary);
  warn_of_queue_drops(results, summary);
  collect_diagnosis(results, summary);
  for (size_t point = 0; point < results.scenario.points.size(); ++point) {
    summary.verdicts.push_back(judge_point(results.scenario, summary, point));
  }
  summary.headline = headline(results.scenario, summary);
  for (const Expectation& expectation : results.scenario.expectations) {
    summary.expectations.push_back(evaluate(expectation, results, summary));
    if (!summary.expectations.back().passed) summary.passed = false;
  }
  return summary;
}

}  // namespace longhaul
