#include "tools/longhaul/report_data.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/longhaul/text.h"
#include "tools/longhaul/verdict.h"

namespace longhaul {

namespace {

using Json = nlohmann::ordered_json;

// About 20 bytes a point: the curves stay below 1.5 MB however many series there are.
constexpr size_t kMostPointsOfCurve = 400;
constexpr size_t kMostPointsOfReport = 60'000;
constexpr size_t kFewestPointsOfCurve = 12;

Json rounded(std::optional<double> value, double unit) {
  if (!value || !std::isfinite(*value)) return nullptr;
  // Six digits are more than a screen shows.
  const double scaled = *value / unit;
  if (scaled == 0) return 0;
  const double scale = std::pow(10, 5 - std::floor(std::log10(std::fabs(scaled))));
  return std::round(scaled * scale) / scale;
}

Json numbers(const std::vector<double>& values, double unit) {
  Json json = Json::array();
  for (const double value : values) json.push_back(rounded(value, unit));
  return json;
}

Json distribution(const Distribution& d, Tail tail, double unit) {
  const Estimate& end = tail_of(d, tail);
  return {{"mean", rounded(d.mean.value, unit)},
          {"p50", rounded(d.p50.value, unit)},
          {"p99", d.count >= kSamplesForP99 ? rounded(d.p99.value, unit) : Json()},
          {"tail", rounded(end.value, unit)},
          {"tail_lower", rounded(end.lower, unit)},
          {"tail_upper", rounded(end.upper, unit)}};
}

std::vector<double> delivered_times(const Series& series) {
  std::vector<double> times;
  for (const sim::MessageSample& sample : series.samples) {
    if (sample.outcome == sim::Outcome::delivered)
      times.push_back(static_cast<double>(sample.completion.ps));
  }
  std::sort(times.begin(), times.end());
  return times;
}

Json series_json(const Series& series, const SeriesSummary& s, Tail tail, double unit,
                 size_t most) {
  const TailCurve curve = thin_tail_curve(delivered_times(series), most);
  return {
      {"policy", s.policy},
      {"completion", distribution(s.completion_ps, tail, unit)},
      {"slowdown", distribution(s.slowdown, tail, 1)},
      {"regret", distribution(s.regret, tail, 1)},
      {"wire", rounded(s.wire_per_payload(), 1)},
      {"oracle_wire", rounded(s.payload_bytes == 0
                                  ? std::nullopt
                                  : std::optional<double>(static_cast<double>(s.oracle_wire_bytes) /
                                                          static_cast<double>(s.payload_bytes)),
                              1)},
      {"times", numbers(curve.times_ps, unit)},
      {"shares", numbers(curve.shares, 1)}};
}

/// One unit for the whole report, so that points compare.
TimeUnit report_unit(const Summary& summary) {
  std::vector<double> means;
  for (const SeriesSummary& series : summary.series) {
    if (series.completion_ps.mean.value) means.push_back(*series.completion_ps.mean.value);
  }
  if (means.empty()) return time_unit_for(1e9);
  return time_unit_for(*std::min_element(means.begin(), means.end()));
}

}  // namespace

TailCurve thin_tail_curve(const std::vector<double>& sorted, size_t most) {
  TailCurve curve;
  const size_t n = sorted.size();
  if (n == 0) return curve;
  const auto keep = [&](size_t remaining) {  // samples at or beyond this one
    curve.times_ps.push_back(sorted[n - remaining]);
    curve.shares.push_back(static_cast<double>(remaining) / static_cast<double>(n));
  };
  size_t last = n + 1;
  const size_t steps = std::min(n, std::max<size_t>(most, 2));
  for (size_t i = 0; i < steps; ++i) {
    const double share =
        n <= most ? static_cast<double>(n - i)
                  : std::pow(static_cast<double>(n),
                             1 - static_cast<double>(i) / static_cast<double>(steps - 1));
    const size_t remaining = std::clamp<size_t>(static_cast<size_t>(std::llround(share)), 1, n);
    if (remaining < last) keep(remaining);
    last = std::min(last, remaining);
  }
  return curve;
}

std::string report_data(const Results& results, const Summary& summary) {
  const Scenario& scenario = results.scenario;
  const TimeUnit unit = report_unit(summary);
  const size_t curves = std::max<size_t>(results.series.size(), 1);
  const size_t most =
      std::clamp(kMostPointsOfReport / curves, kFewestPointsOfCurve, kMostPointsOfCurve);
  Json points = Json::array();
  for (size_t i = 0; i < scenario.points.size(); ++i) {
    Json labels = Json::array();
    for (const auto& [key, value] : scenario.points[i].labels)
      labels.push_back({short_key(key), value});
    Json list = Json::array();
    Json ideal, oracle;
    for (size_t j = 0; j < summary.series.size(); ++j) {
      const SeriesSummary& s = summary.series[j];
      if (s.point != i || s.delivered == 0) continue;
      list.push_back(series_json(results.series[j], s, summary.tail, unit.ps, most));
      if (ideal.is_null()) ideal = rounded(s.mean_ideal_ps, unit.ps);
      if (oracle.is_null()) oracle = rounded(s.mean_oracle_ps, unit.ps);
    }
    points.push_back({{"title", point_title(scenario.points[i])},
                      {"labels", std::move(labels)},
                      {"verdict", summary.verdicts[i].text},
                      {"ideal", ideal},
                      {"oracle", oracle},
                      {"series", std::move(list)}});
  }
  Json policies = Json::array();
  for (const PolicySpec& policy : scenario.policies) policies.push_back(policy.name());
  const Json data = {{"unit", unit.name},
                     {"tail", tail_name(summary.tail)},
                     {"policies", policies},
                     {"start", widest_lead(summary).value_or(0)},
                     {"points", points}};
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace longhaul
