#include "tools/longhaul/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/longhaul/asked.h"
#include "tools/longhaul/text.h"
#include "tools/longhaul/units.h"

namespace longhaul {

namespace {

constexpr size_t kColumns = 118;

/// Text in columns, each as wide as its widest cell; the first one flush left, the others right.
class Grid {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string render() const {
    std::vector<size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()), 0);
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows_) {
      std::string line = fmt::format("  {:<{}}", row[0], widths[0]);
      for (size_t i = 1; i < row.size(); ++i) line += fmt::format("  {:>{}}", row[i], widths[i]);
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Breaks at spaces; later lines start with `indent` spaces.
std::string wrap(const std::string& text, size_t first_column, size_t indent) {
  std::string result, word;
  size_t column = first_column;
  const auto flush = [&] {
    if (word.empty()) return;
    if (column + word.size() > kColumns && column > indent) {
      if (!result.empty() && result.back() == ' ') result.pop_back();
      result += '\n';
      result.append(indent, ' ');
      column = indent;
    }
    result += word;
    column += word.size();
    word.clear();
  };
  for (const char c : text) {
    if (c != ' ' && c != '\n') {
      word += c;
      continue;
    }
    flush();
    if (column > indent) {
      result += ' ';
      ++column;
    }
  }
  flush();
  return result;
}

/// "39.61 (39.60-39.62)"; an absent bound is "?".
std::string with_interval(const Estimate& estimate, double unit_ps) {
  if (!estimate.value) return "-";
  const auto show = [&](double value) { return format_significant(value / unit_ps); };
  std::string text = show(*estimate.value);
  if (!estimate.lower && !estimate.upper) return text;
  const char* to = estimate.lower.value_or(0) < 0 ? ".." : "-";
  return text + fmt::format(" ({}{}{})", estimate.lower ? show(*estimate.lower) : "?", to,
                            estimate.upper ? show(*estimate.upper) : "?");
}

std::string mark(const Verdict& verdict, size_t policy, const Scenario& scenario) {
  const bool wins = verdict.runner_up && verdict.leads(policy);
  return (wins ? "> " : "  ") + scenario.policies[policy].name();
}

std::string undelivered_text(const SeriesSummary& series) {
  if (series.delivered == series.samples) return "0";
  return fmt::format("{} of {}", format_count(series.samples - series.delivered),
                     format_count(series.samples));
}

std::string times_block(const Scenario& scenario, const Summary& summary, size_t point,
                        const TimeUnit& unit) {
  const std::string tail = tail_name(summary.tail);
  Grid grid;
  grid.add({fmt::format("completion, {}", unit.name), "mean", "p50", "p99", tail, "slowdown",
            fmt::format("at {}", tail)});
  for (const SeriesSummary& series : summary.series) {
    if (series.point != point) continue;
    const bool p99 = series.completion_ps.count >= kSamplesForP99;
    grid.add({mark(summary.verdicts[point], series.policy, scenario),
              with_interval(series.completion_ps.mean, unit.ps),
              with_interval(series.completion_ps.p50, unit.ps),
              p99 ? with_interval(series.completion_ps.p99, unit.ps) : "-",
              with_interval(tail_of(series.completion_ps, summary.tail), unit.ps),
              format_ratio(series.slowdown.mean.value),
              format_ratio(tail_of(series.slowdown, summary.tail).value)});
  }
  return grid.render();
}

std::string costs_block(const Scenario& scenario, const Summary& summary, size_t point) {
  Grid grid;
  grid.add({"regret and cost", "regret", fmt::format("at {}", tail_name(summary.tail)),
            "wire/payload", "wire/oracle", "resent", "parity", "lost data", "control",
            "undelivered"});
  for (const SeriesSummary& series : summary.series) {
    if (series.point != point) continue;
    grid.add({fmt::format("  {}", scenario.policies[series.policy].name()),
              format_ratio(series.regret.mean.value),
              format_ratio(tail_of(series.regret, summary.tail).value),
              format_ratio(series.wire_per_payload()), format_ratio(series.wire_per_oracle()),
              format_percent(series.retransmitted_share()), format_percent(series.parity_share()),
              format_count(series.lost_packets), format_count(series.lost_control_packets),
              undelivered_text(series)});
  }
  return grid.render();
}

std::string render_point(const Scenario& scenario, const Summary& summary, size_t point) {
  std::optional<double> shortest, ideal, oracle;
  for (const SeriesSummary& series : summary.series) {
    if (series.point != point || !series.completion_ps.mean.value) continue;
    shortest = std::min(shortest.value_or(*series.completion_ps.mean.value),
                        *series.completion_ps.mean.value);
    if (!ideal) ideal = series.mean_ideal_ps;
    if (!oracle) oracle = series.mean_oracle_ps;
  }
  std::string text;
  if (scenario.points.size() > 1) text += point_title(scenario.points[point]) + "\n";
  if (!shortest) return text + "  no message was delivered\n";
  const TimeUnit unit = time_unit_for(*shortest);
  text += fmt::format("  without loss {} {}, oracle {} {} on average\n",
                      format_significant(*ideal / unit.ps), unit.name,
                      format_significant(*oracle / unit.ps), unit.name);
  text +=
      times_block(scenario, summary, point, unit) + "\n" + costs_block(scenario, summary, point);
  return text + fmt::format("  => {}\n", wrap(summary.verdicts[point].text, 5, 5));
}

std::string render_asked(const Results& results) {
  const Scenario& scenario = results.scenario;
  std::string text = fmt::format("{} ({})\n", scenario.name, scenario.file);
  if (!scenario.description.empty())
    text += fmt::format("  {}\n", wrap(scenario.description, 2, 2));
  for (const auto& [key, value] : describe_asked(results)) {
    text += fmt::format("  {:<13} {}\n", key, wrap(value, 16, 16));
  }
  return text;
}

std::string render_legend(const Results& results, const Summary& summary) {
  std::string text =
      "In brackets: 95 % interval (means by Student's t, percentiles by order statistics).";
  bool no_p99 = false, any = false;
  for (const SeriesSummary& series : summary.series) {
    any = any || series.completion_ps.count > 0;
    no_p99 =
        no_p99 || (series.completion_ps.count > 0 && series.completion_ps.count < kSamplesForP99);
  }
  if (!any) return {};
  if (no_p99) text += fmt::format(" p99 is left out below {} samples.", kSamplesForP99);
  if (summary.tail == Tail::max) {
    text += fmt::format(" max stands for p99.9 below {} samples.", format_count(kSamplesForP999));
  }
  text +=
      " slowdown: time / time without loss. regret: time / time of an oracle that knows every "
      "loss.";
  if (results.scenario.policies.size() > 1) text += " > finishes first.";
  return wrap(text, 0, 0) + "\n";
}

std::string expectation_line(const Expectation& expectation, const ExpectationResult& result) {
  const char* state = result.passed ? "PASS" : result.measured ? "FAIL" : "----";
  return fmt::format(
      "  {}  {}\n", state,
      wrap(fmt::format("{} -> {} [{}]", expectation.text, result.text, expectation.where), 8, 8));
}

}  // namespace

std::string render_problems(const Results& results, const Summary& summary) {
  std::string text;
  for (const std::string& warning : summary.warnings) {
    text += fmt::format("warning: {}\n", wrap(warning, 9, 9));
  }
  for (size_t i = 0; i < summary.expectations.size(); ++i) {
    if (summary.expectations[i].passed) continue;
    text += expectation_line(results.scenario.expectations[i], summary.expectations[i]);
  }
  return text;
}

std::string render_table(const Results& results, const Summary& summary) {
  const Scenario& scenario = results.scenario;
  std::string text = render_asked(results) + "\n";
  for (size_t point = 0; point < scenario.points.size(); ++point) {
    text += render_point(scenario, summary, point) + "\n";
  }
  text += render_legend(results, summary);
  if (scenario.points.size() > 1)
    text += fmt::format("\nOver all points: {}.\n", wrap(summary.headline, 17, 0));
  if (!summary.expectations.empty()) {
    text += "\nexpectations\n";
    for (size_t i = 0; i < summary.expectations.size(); ++i) {
      text += expectation_line(scenario.expectations[i], summary.expectations[i]);
    }
  }
  if (!summary.diagnosis.empty()) text += "\ndiagnosis\n";
  for (const std::string& finding : summary.diagnosis)
    text += fmt::format("  {}\n", wrap(finding, 2, 4));
  if (!summary.warnings.empty()) text += "\n";
  for (const std::string& warning : summary.warnings)
    text += fmt::format("warning: {}\n", wrap(warning, 9, 9));
  return text;
}

}  // namespace longhaul
