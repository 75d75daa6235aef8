#include "tools/longhaul/report_sections.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/longhaul/asked.h"
#include "tools/longhaul/report_html.h"
#include "tools/longhaul/text.h"
#include "tools/longhaul/units.h"
#include "tools/longhaul/verdict.h"

namespace longhaul {

namespace {

std::string figure(const std::string& number, const std::string& caption) {
  return fmt::format("<div class=\"figure\"><b>{}</b><span>{}</span></div>", escape_html(number),
                     escape_html(caption));
}

std::string hero(const std::string& title, const std::string& figures, const std::string& note) {
  return fmt::format("<h2>{}</h2>\n<div class=\"figures\">{}</div>\n", escape_html(title),
                     figures) +
         (note.empty() ? "" : fmt::format("<p>{}</p>\n", escape_html(note)));
}

/// Sentences start with a capital; names of policies stay as they are.
std::string capitalized(std::string text) {
  if (text.starts_with("at ")) text[0] = 'A';
  if (text.starts_with("the ")) text[0] = 'T';
  if (text.starts_with("no ")) text[0] = 'N';
  return text;
}

std::string factor_figure(const std::optional<double>& factor, const std::string& caption) {
  return factor ? figure(format_factor(*factor), caption) : std::string();
}

std::string hero_of_point(const Results& results, const Summary& summary, size_t point) {
  const Scenario& scenario = results.scenario;
  const Verdict& verdict = summary.verdicts[point];
  if (verdict.leaders.empty())
    return hero("No message was delivered", "", "The warnings above say why.");
  const auto name = [&](size_t policy) { return scenario.policies[policy].name(); };
  const SeriesSummary& best = *summary.find(point, verdict.leaders.front());
  const std::string tail = tail_words(summary.tail);
  std::vector<std::string> names;
  for (const size_t policy : verdict.leaders) names.push_back(name(policy));
  std::string title = join_words(names), figures;
  if (verdict.level()) title = "All policies are level";
  if (verdict.runner_up) title += names.size() == 1 ? " finishes first" : " finish first";
  if (verdict.lead) {
    figures += figure(format_factor(*verdict.lead),
                      fmt::format("faster than {} at {}", name(*verdict.runner_up), tail));
  }
  if (verdict.lead_on_slowest && verdict.slowest != verdict.runner_up) {
    figures += figure(format_factor(*verdict.lead_on_slowest),
                      fmt::format("faster than {} at {}", name(*verdict.slowest), tail));
  }
  figures += factor_figure(tail_of(best.slowdown, summary.tail).value,
                           fmt::format("the time without loss, at {}", tail));
  figures += factor_figure(best.wire_per_payload(), "the payload, in bytes on the wire");
  return hero(title, figures, verdict.text + ".");
}

std::string hero_of_sweep(const Results& results, const Summary& summary) {
  const Scenario& scenario = results.scenario;
  std::string figures;
  if (const std::optional<size_t> point = widest_lead(summary)) {
    const Verdict& verdict = summary.verdicts[*point];
    figures += figure(format_factor(*verdict.lead_on_slowest),
                      fmt::format("widest lead at {}: {} over {}, at {}", tail_words(summary.tail),
                                  scenario.policies[verdict.leaders.front()].name(),
                                  scenario.policies[*verdict.slowest].name(),
                                  point_title(scenario.points[*point])));
  }
  const std::string of_all = fmt::format(" of {}", scenario.points.size());
  const WinCounts counts = count_wins(scenario, summary);
  for (const auto& [policy, points] : counts.wins) {
    figures +=
        figure(std::to_string(points) + of_all,
               fmt::format("points where {} finishes first", scenario.policies[policy].name()));
  }
  if (counts.level > 0)
    figures += figure(std::to_string(counts.level) + of_all, "points where all policies are level");
  const std::string& text = summary.headline;
  const size_t end = std::min(text.find(". "), text.size());
  return hero(capitalized(text.substr(0, end)), figures, "");
}

std::string cell(const std::string& main, const std::string& small = {}) {
  return small.empty()
             ? fmt::format("<td>{}</td>", escape_html(main))
             : fmt::format("<td>{}<small>{}</small></td>", escape_html(main), escape_html(small));
}

std::string estimate_cell(const Estimate& estimate, double unit) {
  const auto show = [&](double value) { return format_significant(value / unit); };
  if (!estimate.value) return cell("-");
  if (!estimate.lower && !estimate.upper) return cell(show(*estimate.value));
  return cell(show(*estimate.value),
              fmt::format("{} .. {}", estimate.lower ? show(*estimate.lower) : "?",
                          estimate.upper ? show(*estimate.upper) : "?"));
}

std::string table_row(const Scenario& scenario, const Summary& summary, const SeriesSummary& s,
                      const TimeUnit& unit) {
  const Verdict& verdict = summary.verdicts[s.point];
  const bool wins = verdict.runner_up && verdict.leads(s.policy);
  const std::string messages =
      s.delivered == s.samples
          ? format_count(s.samples)
          : fmt::format("{} of {}", format_count(s.delivered), format_count(s.samples));
  return fmt::format("<tr{}><th>{}</th>", wins ? " class=\"wins\"" : "",
                     escape_html(scenario.policies[s.policy].name())) +
         estimate_cell(s.completion_ps.mean, unit.ps) +
         estimate_cell(s.completion_ps.p50, unit.ps) +
         (s.completion_ps.count >= kSamplesForP99 ? estimate_cell(s.completion_ps.p99, unit.ps)
                                                  : cell("-")) +
         estimate_cell(tail_of(s.completion_ps, summary.tail), unit.ps) +
         cell(format_ratio(s.slowdown.mean.value)) +
         cell(format_ratio(tail_of(s.slowdown, summary.tail).value)) +
         cell(format_ratio(s.regret.mean.value)) +
         cell(format_ratio(tail_of(s.regret, summary.tail).value)) +
         cell(format_ratio(s.wire_per_payload())) + cell(format_ratio(s.wire_per_oracle())) +
         cell(format_percent(s.retransmitted_share())) + cell(format_percent(s.parity_share())) +
         cell(format_count(s.lost_packets)) + cell(format_count(s.lost_control_packets)) +
         cell(messages) + "</tr>\n";
}

std::string table_of_point(const Results& results, const Summary& summary, size_t point) {
  const Scenario& scenario = results.scenario;
  std::optional<double> shortest;
  for (const SeriesSummary& s : summary.series) {
    if (s.point != point || !s.completion_ps.mean.value) continue;
    shortest =
        std::min(shortest.value_or(*s.completion_ps.mean.value), *s.completion_ps.mean.value);
  }
  const TimeUnit unit = time_unit_for(shortest.value_or(1e9));
  const std::string tail = tail_name(summary.tail);
  std::string html = fmt::format(
      "<div class=\"scroll\"><table>\n<thead><tr><th rowspan=\"2\">Policy</th><th "
      "colspan=\"4\">Completion time, {0}</th>"
      "<th colspan=\"2\">Slowdown</th><th colspan=\"2\">Regret</th><th colspan=\"2\">Wire bytes "
      "per</th>"
      "<th colspan=\"2\">Share of packets</th><th colspan=\"2\">Packets lost</th><th "
      "rowspan=\"2\">Messages</th></tr>\n"
      "<tr><th>mean</th><th>p50</th><th>p99</th><th>{1}</th><th>mean</th><th>{1}</th><th>mean</"
      "th><th>{1}</th>"
      "<th>payload</th><th>oracle's</th><th>resent</th><th>parity</th><th>data</th><th>control</"
      "th></tr></thead>\n<tbody>\n",
      unit.name, tail);
  for (const SeriesSummary& s : summary.series) {
    if (s.point == point) html += table_row(scenario, summary, s, unit);
  }
  return html + "</tbody></table></div>\n<p class=\"verdict\">" +
         escape_html(summary.verdicts[point].text) + ".</p>\n";
}

std::string definition_list(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string html = "<dl class=\"facts\">\n";
  for (const auto& [key, value] : pairs) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(key), escape_html(value));
  }
  return html + "</dl>\n";
}

}  // namespace

std::string report_banners(const Results& results, const Summary& summary) {
  std::string html;
  const auto failed = std::count_if(summary.expectations.begin(), summary.expectations.end(),
                                    [](const ExpectationResult& e) { return !e.passed; });
  if (failed > 0) {
    html += fmt::format(
        "<p class=\"banner bad\">{} of {} expectations of the scenario did not hold: "
        "<a href=\"#expectations\">see below</a>.</p>\n",
        failed, summary.expectations.size());
  }
  for (const std::string& warning : summary.warnings) {
    html += "<p class=\"banner\">" + escape_html(warning) + ".</p>\n";
  }
  (void)results;
  return html;
}

std::string report_hero(const Results& results, const Summary& summary) {
  return results.scenario.points.size() == 1 ? hero_of_point(results, summary, 0)
                                             : hero_of_sweep(results, summary);
}

std::string report_question(const Results& results) {
  std::string html = "<p class=\"lead\">" + escape_html(describe_question(results)) +
                     "</p>\n<dl class=\"policies\">\n";
  for (const PolicySpec& policy : results.scenario.policies) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(policy.name()),
                        escape_html(explain_policy(policy)));
  }
  return html + "</dl>\n" + definition_list(describe_asked(results));
}

std::string report_diagnosis(const Summary& summary) {
  if (summary.diagnosis.empty()) return {};
  std::string html = "<section id=\"diagnosis\">\n<h2>Diagnosis</h2>\n<ul>\n";
  for (const std::string& finding : summary.diagnosis)
    html += "<li>" + escape_html(finding) + ".</li>\n";
  return html + "</ul>\n</section>\n";
}

std::string report_sweep(const Results& results, const Summary& summary) {
  if (results.scenario.points.size() < 2) return {};
  return fmt::format(
      "<section id=\"sweep\">\n<h2>Across the sweep</h2>\n<p class=\"controls\" role=\"group\" "
      "aria-label=\"Quantity\">"
      "<button data-metric=\"slowdown\" class=\"on\">Slowdown</button>"
      "<button data-metric=\"completion\">Completion time</button>"
      "<button data-metric=\"regret\">Regret</button>"
      "<button data-metric=\"wire\">Wire bytes</button></p>\n"
      "<p class=\"caption\" id=\"sweep-caption\"></p>\n<p class=\"legend\" data-legend></p>\n"
      "<div class=\"multiples\" id=\"sweep-charts\"></div>\n<p class=\"note\">Bars: 95 % "
      "interval{}</p>\n</section>\n",
      summary.tail == Tail::max ? "; a maximum has none." : ".");
}

std::string report_points(const Results& results) {
  if (results.scenario.points.size() < 2) return {};
  std::string html = "<p class=\"controls\"><label>Point <select id=\"point\">";
  for (size_t i = 0; i < results.scenario.points.size(); ++i) {
    html += fmt::format("<option value=\"{}\">{}</option>", i,
                        escape_html(point_title(results.scenario.points[i])));
  }
  return html + "</select></label></p>\n";
}

std::string report_tables(const Results& results, const Summary& summary) {
  const size_t points = results.scenario.points.size();
  if (points == 1) return table_of_point(results, summary, 0);
  std::string html;
  for (size_t i = 0; i < points; ++i) {
    html += fmt::format(
        "<details{}><summary>{}</summary>\n{}</details>\n", points <= 4 ? " open" : "",
        escape_html(point_title(results.scenario.points[i])), table_of_point(results, summary, i));
  }
  return html;
}

std::string report_expectations(const Results& results, const Summary& summary) {
  if (summary.expectations.empty()) return {};
  std::string html =
      "<section id=\"expectations\">\n<h2>Expectations of the scenario</h2>\n<ul "
      "class=\"expectations\">\n";
  for (size_t i = 0; i < summary.expectations.size(); ++i) {
    const ExpectationResult& result = summary.expectations[i];
    const Expectation& expectation = results.scenario.expectations[i];
    const char* state = result.passed ? "pass" : result.measured ? "fail" : "open";
    const char* word = result.passed ? "PASS" : result.measured ? "FAIL" : "not measured";
    html += fmt::format("<li class=\"{}\"><b>{}</b> <code>{}</code><br>{} <small>{}</small></li>\n",
                        state, word, escape_html(expectation.text), escape_html(result.text),
                        escape_html(expectation.where));
  }
  return html + "</ul>\n</section>\n";
}

std::string report_percentile_note(const Summary& summary) {
  if (summary.tail == Tail::p999) return {};
  return fmt::format(
      "<p>This run has fewer than {} samples of every policy, too few for p99.9: the maximum (max) "
      "is shown in its "
      "place. It grows with the number of samples, so compare it only within this report.</p>",
      format_count(kSamplesForP999));
}

std::string report_provenance(const Results& results) {
  return fmt::format("<pre class=\"command\">{}</pre>\n", escape_html(results.command)) +
         definition_list({{"commit", results.commit},
                          {"scenario file", results.scenario.file},
                          {"run time", fmt::format("{:.2f} s", results.wall_seconds)},
                          {"complete", results.complete ? "yes" : "no, interrupted"}}) +
         "<details><summary>Every effective setting</summary>\n" +
         definition_list(results.scenario.effective) + "</details>\n";
}

}  // namespace longhaul
