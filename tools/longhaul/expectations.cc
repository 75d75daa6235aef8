#include "tools/longhaul/expectations.h"

#include <fmt/format.h>

#include <cmath>

#include "tools/longhaul/text.h"

namespace longhaul {

namespace {

using Metric = Expectation::Metric;

std::optional<double> measure(Metric metric, const SeriesSummary& series) {
  switch (metric) {
    case Metric::delivered_all:
      return static_cast<double>(series.samples - series.delivered);
    case Metric::mean_slowdown:
      return series.slowdown.mean.value;
    case Metric::p50_slowdown:
      return series.slowdown.p50.value;
    case Metric::p99_slowdown:
      return series.slowdown.p99.value;
    case Metric::p999_slowdown:
      return series.slowdown.p999.value;
    case Metric::max_slowdown:
      return series.slowdown.max.value;
    case Metric::mean_regret:
      return series.regret.mean.value;
    case Metric::p50_regret:
      return series.regret.p50.value;
    case Metric::p99_regret:
      return series.regret.p99.value;
    case Metric::p999_regret:
      return series.regret.p999.value;
    case Metric::max_regret:
      return series.regret.max.value;
    case Metric::wire_overhead:
      return series.wire_per_payload();
    case Metric::retransmitted_packets:
      return static_cast<double>(series.retransmitted_packets);
  }
  return std::nullopt;
}

/// How many samples the percentile needs to differ from the maximum; 0 for the other metrics.
uint64_t samples_needed(Metric metric) {
  if (metric == Metric::p99_slowdown || metric == Metric::p99_regret) return kSamplesForP99;
  if (metric == Metric::p999_slowdown || metric == Metric::p999_regret) return kSamplesForP999;
  return 0;
}

/// Distance beyond the nearer bound: negative while the expectation holds with room.
double excess(const Expectation& expectation, double value) {
  return std::max(value - expectation.below, expectation.above - value);
}

std::string wanted(const Expectation& expectation) {
  std::vector<std::string> bounds;
  if (std::isfinite(expectation.above))
    bounds.push_back(fmt::format("above {:g}", expectation.above));
  if (std::isfinite(expectation.below))
    bounds.push_back(fmt::format("below {:g}", expectation.below));
  return join_words(bounds);
}

std::string place(const Results& results, const SeriesSummary& series) {
  const Scenario& scenario = results.scenario;
  std::string text = scenario.policies[series.policy].name();
  if (scenario.points.size() > 1) text += " at " + point_title(scenario.points[series.point]);
  return text;
}

ExpectationResult evaluate_delivered(const SeriesSummary* worst, uint64_t undelivered,
                                     uint64_t samples, const Results& results) {
  ExpectationResult result;
  result.measured = samples > 0 && results.complete;
  result.passed = result.measured && undelivered == 0;
  result.worst = static_cast<double>(undelivered);
  result.text = fmt::format("{} of {} messages delivered", samples - undelivered, samples);
  if (undelivered > 0)
    result.text += fmt::format("; worst: {}, {}", place(results, *worst), worst->first_failure);
  if (!results.complete) result.text += "; interrupted";
  return result;
}

}  // namespace

ExpectationResult evaluate(const Expectation& expectation, const Results& results,
                           const Summary& summary) {
  const SeriesSummary* worst = nullptr;
  double worst_value = 0;
  uint64_t undelivered = 0, samples = 0;
  bool missing = false;
  for (const SeriesSummary& series : summary.series) {
    const std::string name = results.scenario.policies[series.policy].name();
    if (!expectation.policy.empty() && expectation.policy != name) continue;
    const std::optional<double> value =
        series.samples > 0 ? measure(expectation.metric, series) : std::nullopt;
    if (!value) {
      missing = true;
      continue;
    }
    undelivered += series.samples - series.delivered;
    samples += series.samples;
    if (worst == nullptr ||
        (expectation.metric == Metric::delivered_all
             ? *value > worst_value
             : excess(expectation, *value) > excess(expectation, worst_value))) {
      worst = &series;
      worst_value = *value;
    }
  }
  if (expectation.metric == Metric::delivered_all) {
    return evaluate_delivered(worst, undelivered, samples, results);
  }
  ExpectationResult result;
  if (worst == nullptr) {
    result.text = "nothing was measured";
    return result;
  }
  // A violation stands even when the run was interrupted; holding needs every point.
  const bool violated = !(worst_value < expectation.below && worst_value > expectation.above);
  result.measured = violated || (!missing && results.complete);
  result.passed = result.measured && !violated;
  result.worst = worst_value;
  result.text = fmt::format("{} with {}, wanted {}", format_significant(worst_value),
                            place(results, *worst), wanted(expectation));
  if (worst->delivered < samples_needed(expectation.metric)) {
    result.text += fmt::format(" (of {} samples this percentile is the maximum)", worst->delivered);
  }
  if (!result.measured) result.text += missing ? "; not every point was measured" : "; interrupted";
  return result;
}

}  // namespace longhaul
