#include "tools/longhaul/result_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tools/longhaul/asked.h"

namespace longhaul {

namespace {

using Json = nlohmann::ordered_json;
using sim::MessageSample;

std::string text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

/// Times keep to whole picoseconds: they are order statistics, or means.
Json picoseconds(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return static_cast<int64_t>(std::llround(*value));
}

using Convert = Json (*)(std::optional<double>);

Json estimate_json(const Estimate& estimate, Convert convert) {
  return {{"value", convert(estimate.value)},
          {"lower", convert(estimate.lower)},
          {"upper", convert(estimate.upper)}};
}

Json distribution_json(const Distribution& distribution, Convert convert) {
  return {{"count", distribution.count},
          {"mean", estimate_json(distribution.mean, convert)},
          {"p50", estimate_json(distribution.p50, convert)},
          {"p99", estimate_json(distribution.p99, convert)},
          {"p999", estimate_json(distribution.p999, convert)},
          {"max", convert(distribution.max.value)}};
}

Json loss_json(const LossSpec& loss) {
  switch (loss.model) {
    case LossModel::none:
      return Json::object({{"model", "none"}, {"mean", 0}});
    case LossModel::bernoulli:
      return {{"model", "bernoulli"}, {"rate", loss.rate}, {"mean", loss.mean_loss()}};
    case LossModel::gilbert_elliott:
      return {{"model", "gilbert_elliott"},      {"good_to_bad", loss.good_to_bad},
              {"bad_to_good", loss.bad_to_good}, {"loss_in_good", loss.loss_in_good},
              {"loss_in_bad", loss.loss_in_bad}, {"mean", loss.mean_loss()}};
    case LossModel::scripted:
      return {{"model", "scripted"},
              {"drop_data", loss.drop_data},
              {"drop_control", loss.drop_control}};
  }
  return nullptr;
}

Json pairs_json(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json json = Json::object();
  for (const auto& [key, value] : pairs) json[key] = value;
  return json;
}

Json point_json(const Point& point) {
  const sim::PathSpec& path = point.path;
  return {{"labels", pairs_json(point.labels)},
          {"path",
           {{"rate_bps", path.rate_bps},
            {"nic_rate_bps", path.nic_rate_bps},
            {"propagation_ps", path.propagation.ps},
            {"rtt_ps", rtt(path).ps},
            {"bandwidth_delay_bytes", bandwidth_delay_bytes(path)},
            {"queue_bytes", path.queue_bytes},
            {"header_bytes", path.header_bytes},
            {"mtu_bytes", path.mtu_bytes},
            {"loss", loss_json(path.loss)},
            {"reverse_loss", loss_json(path.reverse_loss)}}},
          {"message_bytes", point.message_bytes},
          {"message_packets", packets_of(point)},
          {"payload", point.payload == sim::Payload::real ? "real" : "virtual"},
          {"payload_note", point.payload_note},
          {"chunk_packets", point.chunk_packets},
          {"give_up_ps", point.give_up.ps}};
}

Json policy_names(const Scenario& scenario) {
  Json names = Json::array();
  for (const PolicySpec& policy : scenario.policies) names.push_back(policy.name());
  return names;
}

Json scenario_json(const Scenario& scenario) {
  return {{"file", scenario.file},
          {"name", scenario.name},
          {"description", scenario.description},
          {"effective", pairs_json(scenario.effective)},
          {"policies", policy_names(scenario)},
          {"seeds", scenario.seeds},
          {"messages_per_seed", scenario.messages_per_seed}};
}

Json series_summary_json(const Scenario& scenario, const SeriesSummary& series) {
  return {{"point", series.point},
          {"policy", scenario.policies[series.policy].name()},
          {"samples", series.samples},
          {"delivered", series.delivered},
          {"failed", series.failed},
          {"corrupt", series.corrupt},
          {"completion_ps", distribution_json(series.completion_ps, picoseconds)},
          {"slowdown", distribution_json(series.slowdown, number)},
          {"regret", distribution_json(series.regret, number)},
          {"setup_ps", distribution_json(series.setup_ps, picoseconds)},
          {"mean_ideal_ps", picoseconds(series.mean_ideal_ps)},
          {"mean_oracle_ps", picoseconds(series.mean_oracle_ps)},
          {"wire_per_payload", number(series.wire_per_payload())},
          {"wire_per_oracle", number(series.wire_per_oracle())},
          {"retransmitted_share", number(series.retransmitted_share())},
          {"parity_share", number(series.parity_share())},
          {"payload_bytes", series.payload_bytes},
          {"wire_bytes", series.wire_bytes},
          {"oracle_wire_bytes", series.oracle_wire_bytes},
          {"data_packets", series.data_packets},
          {"retransmitted_packets", series.retransmitted_packets},
          {"parity_packets", series.parity_packets},
          {"control_packets", series.control_packets},
          {"lost_packets", series.lost_packets},
          {"lost_control_packets", series.lost_control_packets},
          {"queue_drops", series.queue_drops},
          {"duplicate_packets", series.duplicate_packets},
          {"decoded_packets", series.decoded_packets},
          {"fallbacks", series.fallbacks}};
}

Json counters_json(const QueuePairCounters& counters) {
  Json json = Json::object();
  for (const CounterField& field : counter_fields()) json[field.name] = counters.*field.value;
  return json;
}

/// What the counters of a series say is wrong, in words, and the counters.
Json diagnosis_json(const Scenario& scenario, const SeriesSummary& series) {
  Json findings = Json::array();
  for (const Finding& finding : series.findings) {
    findings.push_back({{"severity", severity_name(finding.severity)},
                        {"name", finding.name},
                        {"text", finding.text}});
  }
  return {{"point", series.point},
          {"policy", scenario.policies[series.policy].name()},
          {"findings", std::move(findings)},
          {"sender", counters_json(series.sender)},
          {"receiver", counters_json(series.receiver)}};
}

Json verdict_json(const Scenario& scenario, const Verdict& verdict) {
  const auto name = [&](const std::optional<size_t>& policy) {
    return policy ? Json(scenario.policies[*policy].name()) : Json();
  };
  Json leaders = Json::array();
  for (const size_t policy : verdict.leaders) leaders.push_back(name(policy));
  return {{"leaders", std::move(leaders)},
          {"runner_up", name(verdict.runner_up)},
          {"lead", number(verdict.lead)},
          {"slowest", name(verdict.slowest)},
          {"lead_on_slowest", number(verdict.lead_on_slowest)},
          {"level", verdict.level()},
          {"first_on_average", name(verdict.first_on_average)},
          {"uncertain", verdict.uncertain},
          {"text", verdict.text}};
}

Json expectation_json(const Expectation& expectation, const ExpectationResult& result) {
  return {{"expected", expectation.text},
          {"where", expectation.where},
          {"passed", result.passed},
          {"measured", result.measured},
          {"worst", result.measured ? number(result.worst) : Json()},
          {"text", result.text}};
}

/// One array of a column for all samples.
template <typename Get>
Json column(const Series& series, Get get) {
  Json values = Json::array();
  for (const MessageSample& sample : series.samples) values.push_back(get(sample));
  return values;
}

Json count_columns(const Series& series) {
  struct Column {
    const char* name;
    uint64_t MessageSample::*member;
  };
  constexpr Column kColumns[] = {{"payload_bytes", &MessageSample::payload_bytes},
                                 {"wire_bytes", &MessageSample::wire_bytes},
                                 {"oracle_wire_bytes", &MessageSample::oracle_wire_bytes},
                                 {"data_packets", &MessageSample::data_packets},
                                 {"retransmitted_packets", &MessageSample::retransmitted_packets},
                                 {"parity_packets", &MessageSample::parity_packets},
                                 {"control_packets", &MessageSample::control_packets},
                                 {"lost_packets", &MessageSample::lost_packets},
                                 {"lost_control_packets", &MessageSample::lost_control_packets},
                                 {"queue_drops", &MessageSample::queue_drops},
                                 {"duplicate_packets", &MessageSample::duplicate_packets},
                                 {"decoded_packets", &MessageSample::decoded_packets},
                                 {"fallbacks", &MessageSample::fallbacks}};
  Json columns = Json::object();
  for (const Column& c : kColumns) {
    columns[c.name] = column(series, [&](const MessageSample& sample) { return sample.*c.member; });
  }
  return columns;
}

Json series_json(const Scenario& scenario, const Series& series) {
  Json columns = {
      {"seed", series.seeds},
      {"message", series.messages},
      {"completion_ps", column(series, [](const MessageSample& s) { return s.completion.ps; })},
      {"ideal_ps", column(series, [](const MessageSample& s) { return s.ideal.ps; })},
      {"oracle_ps", column(series, [](const MessageSample& s) { return s.oracle.ps; })},
      {"setup_ps", column(series, [](const MessageSample& s) { return s.setup.ps; })}};
  columns.update(count_columns(series));
  columns["digest"] =
      column(series, [](const MessageSample& s) { return fmt::format("{:016x}", s.digest); });
  Json undelivered = Json::array();
  for (size_t i = 0; i < series.samples.size(); ++i) {
    const MessageSample& sample = series.samples[i];
    if (sample.outcome == sim::Outcome::delivered) continue;
    undelivered.push_back(
        {{"sample", i},
         {"outcome", sample.outcome == sim::Outcome::failed ? "failed" : "corrupt"},
         {"failure", sample.failure}});
  }
  return {{"point", series.point},
          {"policy", scenario.policies[series.policy].name()},
          {"undelivered", std::move(undelivered)},
          {"samples", std::move(columns)}};
}

template <typename Items, typename Convert>
void write_array(std::ostream& out, const char* name, const Items& items, Convert convert) {
  out << ",\n\"" << name << "\": [";
  bool first = true;
  for (const auto& item : items) {
    out << (first ? "\n" : ",\n") << text(convert(item));
    first = false;
  }
  out << "\n]";
}

}  // namespace

void write_result_json(std::ostream& out, const Results& results, const Summary& summary) {
  const Scenario& scenario = results.scenario;
  uint64_t finished = 0;
  for (const Series& series : results.series) finished += series.samples.size();
  Json expectations = Json::array();
  for (size_t i = 0; i < summary.expectations.size(); ++i) {
    expectations.push_back(expectation_json(scenario.expectations[i], summary.expectations[i]));
  }
  out << "{\n\"format\": \"longhaul-result\",\n\"version\": " << kResultVersion;
  const auto member = [&](const char* name, const Json& value) {
    out << ",\n\"" << name << "\": " << text(value);
  };
  member("complete", results.complete);
  member("passed", summary.passed);
  member("commit", results.commit);
  member("command", results.command);
  member("backend", results.backend);
  member("run", {{"samples_wanted", results.samples_wanted},
                 {"samples_finished", finished},
                 {"wall_seconds", number(results.wall_seconds)}});
  member("scenario", scenario_json(scenario));
  member("headline", summary.headline);
  member("tail", tail_name(summary.tail));
  member("warnings", summary.warnings);
  member("expectations", expectations);
  write_array(out, "points", scenario.points, point_json);
  write_array(out, "verdicts", summary.verdicts,
              [&](const Verdict& v) { return verdict_json(scenario, v); });
  write_array(out, "summary", summary.series,
              [&](const SeriesSummary& s) { return series_summary_json(scenario, s); });
  write_array(out, "diagnose", summary.series,
              [&](const SeriesSummary& s) { return diagnosis_json(scenario, s); });
  write_array(out, "series", results.series,
              [&](const Series& s) { return series_json(scenario, s); });
  out << "\n}\n";
}

}  // namespace longhaul
