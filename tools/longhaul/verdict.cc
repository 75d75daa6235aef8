#include "tools/longhaul/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/longhaul/text.h"

namespace longhaul {

namespace {

double tail_ps(const SeriesSummary& series, Tail tail) {
  return tail_of(series.completion_ps, tail).value.value_or(0);
}

/// Best first: fewest undelivered, then tail, then mean, then the order of the file.
std::vector<const SeriesSummary*> ranking(const Summary& summary, size_t point) {
  std::vector<const SeriesSummary*> ranked;
  for (const SeriesSummary& series : summary.series) {
    if (series.point == point && series.delivered > 0) ranked.push_back(&series);
  }
  std::stable_sort(
      ranked.begin(), ranked.end(), [&](const SeriesSummary* a, const SeriesSummary* b) {
        const double lost_a =
            static_cast<double>(a->samples - a->delivered) / static_cast<double>(a->samples);
        const double lost_b =
            static_cast<double>(b->samples - b->delivered) / static_cast<double>(b->samples);
        if (lost_a != lost_b) return lost_a < lost_b;
        const double tail_a = tail_ps(*a, summary.tail), tail_b = tail_ps(*b, summary.tail);
        if (tail_a != tail_b) return tail_a < tail_b;
        return a->completion_ps.mean.value < b->completion_ps.mean.value;
      });
  return ranked;
}

bool delivered_all(const SeriesSummary& series) { return series.delivered == series.samples; }

std::string times(const char* suffix, const std::optional<double>& value) {
  return value ? fmt::format("{} {}", format_factor(*value), suffix) : std::string();
}

/// "1.25x ideal, 1.02x the oracle, 1.28x the payload on the wire".
std::string standing(const SeriesSummary& series, Tail tail) {
  std::string text;
  for (const std::string& part : {times("ideal", tail_of(series.slowdown, tail).value),
                                  times("the oracle", tail_of(series.regret, tail).value),
                                  times("the payload on the wire", series.wire_per_payload())}) {
    if (part.empty()) continue;
    text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

std::string names_of(const Scenario& scenario, const std::vector<size_t>& policies) {
  std::vector<std::string> names;
  for (const size_t policy : policies) names.push_back(scenario.policies[policy].name());
  return join_words(names);
}

/// "; 1.93x faster than sr(nack), 3.78x faster than sr(rto=3rtt)".
std::string lead_text(const Scenario& scenario, const Verdict& verdict) {
  const auto name = [&](size_t policy) { return scenario.policies[policy].name(); };
  if (!verdict.lead)
    return fmt::format("; {} did not deliver every message", name(*verdict.runner_up));
  std::string text =
      fmt::format("; {} faster than {}", format_factor(*verdict.lead), name(*verdict.runner_up));
  if (verdict.slowest != verdict.runner_up) {
    text += fmt::format(", {} faster than {}", format_factor(*verdict.lead_on_slowest),
                        name(*verdict.slowest));
  }
  return text;
}

std::string verdict_text(const Scenario& scenario, const Summary& summary, const Verdict& verdict,
                         const std::vector<const SeriesSummary*>& ranked) {
  const std::string names = names_of(scenario, verdict.leaders), tail = tail_words(summary.tail);
  const std::string where_it_stands = standing(*ranked.front(), summary.tail);
  std::string text;
  if (verdict.level()) {
    text =
        fmt::format("{} are level at {} (less than 1 % apart): {}", names, tail, where_it_stands);
  } else if (!verdict.runner_up) {
    text = fmt::format("{} at {}: {}", names, tail, where_it_stands);
    if (scenario.policies.size() > 1) text += "; no other policy delivered a message";
  } else if (verdict.leaders.size() > 1) {
    text =
        fmt::format("{} finish first at {}, less than 1 % apart: {}", names, tail, where_it_stands);
  } else {
    text = fmt::format("{} finishes first at {}: {}", names, tail, where_it_stands);
  }
  if (verdict.runner_up) text += lead_text(scenario, verdict);
  const auto cheapest = std::min_element(
      ranked.begin(), ranked.begin() + static_cast<ptrdiff_t>(verdict.leaders.size()),
      [](auto* a, auto* b) { return a->wire_bytes < b->wire_bytes; });
  if (cheapest != ranked.begin() && (*cheapest)->wire_per_payload()) {
    text += fmt::format("; of these {} sends the least, {} the payload",
                        scenario.policies[(*cheapest)->policy].name(),
                        format_factor(*(*cheapest)->wire_per_payload()));
  }
  if (verdict.first_on_average) {
    text += fmt::format("; on average {} is first, {} faster",
                        scenario.policies[*verdict.first_on_average].name(),
                        format_factor(verdict.lead_on_average));
  }
  if (verdict.uncertain) text += " (the 95 % intervals overlap: more samples would tell)";
  return text;
}

/// Looks for a policy that the leaders beat at the tail and that clearly beats them on average.
void compare_means(const std::vector<const SeriesSummary*>& ranked, Verdict& verdict) {
  double shortest = *ranked.front()->completion_ps.mean.value;
  for (const SeriesSummary* series : ranked) {
    if (verdict.leads(series->policy))
      shortest = std::min(shortest, *series->completion_ps.mean.value);
  }
  for (const SeriesSummary* series : ranked) {
    const double mean = *series->completion_ps.mean.value;
    const double best = verdict.first_on_average ? shortest : shortest / kLevelLead;
    if (!delivered_all(*series) || mean <= 0 || mean >= best) continue;
    shortest = mean;
    verdict.first_on_average = series->policy;
    verdict.lead_on_average = *ranked.front()->completion_ps.mean.value / mean;
  }
}

/// Whether the samples leave open which p99.9 is smaller. Up to 3,687 samples p99.9 has no upper
/// bound (0.999^n > 2.5 %); the largest sample then stands for it.
bool intervals_overlap(const Distribution& better, const Distribution& worse) {
  const std::optional<double>& upper = better.p999.upper ? better.p999.upper : better.max.value;
  return !upper || !worse.p999.lower || *upper >= *worse.p999.lower;
}

/// "at p99.9 sr(nack) finishes first for size 1 MiB to 8 MiB, ec(32,8) for 16 MiB to 8 GiB; level
/// for 512 KiB", for one swept setting of numbers and at most four stretches; else empty.
std::string stretches_text(const Scenario& scenario, const Summary& summary) {
  struct Stretch {
    std::vector<size_t> who;  // empty: level
    std::string first, last;
  };
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < scenario.points.size(); ++i) {
    const Verdict& verdict = summary.verdicts[i];
    if (scenario.points[i].labels.size() != 1 || verdict.leaders.empty()) return {};
    std::vector<size_t> who = verdict.level() ? std::vector<size_t>() : verdict.leaders;
    std::sort(who.begin(), who.end());
    const std::string& label = scenario.points[i].labels.front().second;
    if (label.empty() || label.front() < '0' || label.front() > '9') return {};
    if (stretches.empty() || stretches.back().who != who) stretches.push_back({who, label, label});
    stretches.back().last = label;
  }
  if (stretches.size() < 2 || stretches.size() > 4) return {};
  const std::string key = short_key(scenario.points.front().labels.front().first);
  std::string wins, level;
  for (const Stretch& s : stretches) {
    const std::string range =
        s.first == s.last ? s.first : fmt::format("{} to {}", s.first, s.last);
    if (s.who.empty()) {
      level += fmt::format("{}{}", level.empty() ? "; level for " : " and ", range);
    } else if (wins.empty()) {
      wins = fmt::format("at {} {} {} first for {} {}", tail_words(summary.tail),
                         names_of(scenario, s.who), s.who.size() == 1 ? "finishes" : "finish", key,
                         range);
    } else {
      wins += fmt::format(", {} for {}", names_of(scenario, s.who), range);
    }
  }
  return wins.empty() ? std::string() : wins + level;
}

std::string count_text(const Scenario& scenario, const Summary& summary) {
  const WinCounts counts = count_wins(scenario, summary);
  if (counts.judged == 0) return "no message was delivered";
  const std::string tail = tail_words(summary.tail);
  if (counts.wins.empty()) return fmt::format("the policies are level at {} at every point", tail);
  std::string text;
  for (const auto& [policy, points] : counts.wins) {
    const std::string name = scenario.policies[policy].name();
    if (!text.empty()) {
      text += fmt::format(", {} at {}", name, points);
    } else if (points == scenario.points.size()) {
      text = fmt::format("{} finishes first at {} at all {} points", name, tail, points);
    } else {
      text = fmt::format("{} finishes first at {} at {} of {} points", name, tail, points,
                         counts.judged);
    }
  }
  return counts.level == 0 ? text : text + fmt::format("; level at {}", counts.level);
}

}  // namespace

Verdict judge_point(const Scenario& scenario, const Summary& summary, size_t point) {
  Verdict verdict;
  const std::vector<const SeriesSummary*> ranked = ranking(summary, point);
  if (ranked.empty()) {
    verdict.text = "no message was delivered";
    return verdict;
  }
  const SeriesSummary& best = *ranked.front();
  const double best_ps = tail_ps(best, summary.tail);
  for (const SeriesSummary* series : ranked) {
    const bool leads = series == &best || (delivered_all(*series) &&
                                           tail_ps(*series, summary.tail) < kLevelLead * best_ps);
    if (leads) {
      verdict.leaders.push_back(series->policy);
      continue;
    }
    if (!verdict.runner_up) {
      verdict.runner_up = series->policy;
      verdict.uncertain = summary.tail == Tail::p999 && delivered_all(*series) &&
                          intervals_overlap(best.completion_ps, series->completion_ps);
    }
    if (!delivered_all(*series) || best_ps <= 0) continue;
    const double lead = tail_ps(*series, summary.tail) / best_ps;
    if (series->policy == verdict.runner_up) verdict.lead = lead;
    verdict.slowest = series->policy;
    verdict.lead_on_slowest = lead;
  }
  compare_means(ranked, verdict);
  verdict.text = verdict_text(scenario, summary, verdict, ranked);
  return verdict;
}

WinCounts count_wins(const Scenario& scenario, const Summary& summary) {
  WinCounts counts;
  for (size_t i = 0; i < scenario.policies.size(); ++i) counts.wins.emplace_back(i, 0);
  for (const Verdict& verdict : summary.verdicts) {
    if (!verdict.leaders.empty()) ++counts.judged;
    if (verdict.level()) ++counts.level;
    if (!verdict.runner_up) continue;
    for (const size_t policy : verdict.leaders) ++counts.wins[policy].second;
  }
  std::erase_if(counts.wins, [](const auto& win) { return win.second == 0; });
  std::stable_sort(counts.wins.begin(), counts.wins.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return counts;
}

std::optional<size_t> widest_lead(const Summary& summary) {
  std::optional<size_t> widest;
  for (size_t i = 0; i < summary.verdicts.size(); ++i) {
    const std::optional<double>& lead = summary.verdicts[i].lead_on_slowest;
    if (lead && (!widest || *lead > *summary.verdicts[*widest].lead_on_slowest)) widest = i;
  }
  return widest;
}

std::string headline(const Scenario& scenario, const Summary& summary) {
  if (summary.verdicts.size() == 1) return summary.verdicts.front().text;
  if (scenario.policies.size() == 1) {
    return fmt::format("{} at {} points", scenario.policies.front().name(),
                       summary.verdicts.size());
  }
  std::string text = stretches_text(scenario, summary);
  if (text.empty()) text = count_text(scenario, summary);
  const auto disagree =
      std::count_if(summary.verdicts.begin(), summary.verdicts.end(),
                    [](const Verdict& v) { return v.first_on_average.has_value(); });
  if (disagree > 0)
    text += fmt::format("; at {} of these another policy is first on average", disagree);
  if (const std::optional<size_t> point = widest_lead(summary)) {
    const Verdict& verdict = summary.verdicts[*point];
    text += fmt::format(
        ". Widest lead: {} {} faster than {}, at {}",
        scenario.policies[verdict.leaders.front()].name(), format_factor(*verdict.lead_on_slowest),
        scenario.policies[*verdict.slowest].name(), point_title(scenario.points[*point]));
  }
  return text;
}

}  // namespace longhaul
