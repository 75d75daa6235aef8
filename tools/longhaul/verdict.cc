#include "tools/longhaul/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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

/// The last in time among those that delivered everything; `ranked` has at least two.
const SeriesSummary& slowest_of(const std::vector<const SeriesSummary*>& ranked) {
  const SeriesSummary* slowest = ranked[1];
  for (const SeriesSummary* series : ranked) {
    if (series->delivered == series->samples) slowest = series;
  }
  return *slowest;
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

std::string level_text(const Scenario& scenario, const Summary& summary,
                       const std::vector<const SeriesSummary*>& ranked) {
  std::vector<std::string> names;
  const SeriesSummary* cheapest = ranked.front();
  for (const SeriesSummary* series : ranked) {
    if (!delivered_all(*series) ||
        tail_ps(*series, summary.tail) >= kLevelLead * tail_ps(*ranked.front(), summary.tail)) {
      break;
    }
    names.push_back(scenario.policies[series->policy].name());
    if (series->wire_bytes < cheapest->wire_bytes) cheapest = series;
  }
  std::string text = fmt::format("{} are level at {} (less than 1 % apart): {}", join_words(names),
                                 tail_words(summary.tail), standing(*ranked.front(), summary.tail));
  if (cheapest != ranked.front() && cheapest->wire_per_payload()) {
    text += fmt::format("; {} sends the least, {} the payload",
                        scenario.policies[cheapest->policy].name(),
                        format_factor(*cheapest->wire_per_payload()));
  }
  return text;
}

std::string winner_text(const Scenario& scenario, const Summary& summary, const Verdict& verdict,
                        const std::vector<const SeriesSummary*>& ranked) {
  const auto name = [&](size_t policy) { return scenario.policies[policy].name(); };
  std::string text = fmt::format("{} finishes first at {}: {}", name(*verdict.winner),
                                 tail_words(summary.tail), standing(*ranked.front(), summary.tail));
  if (delivered_all(*ranked[1])) {
    text +=
        fmt::format("; {} faster than {}", format_factor(verdict.lead), name(*verdict.runner_up));
    if (verdict.slowest != verdict.runner_up) {
      text += fmt::format(", {} faster than {}", format_factor(verdict.lead_on_slowest),
                          name(*verdict.slowest));
    }
  } else {
    text += fmt::format("; {} did not deliver every message", name(*verdict.runner_up));
  }
  if (verdict.uncertain) text += " (the 95 % intervals overlap: more samples would tell)";
  return text;
}

/// Whether the samples leave open which p99.9 is smaller. Up to 3,687 samples p99.9 has no upper
/// bound (0.999^n > 2.5 %); the largest sample then stands for it.
bool intervals_overlap(const Distribution& better, const Distribution& worse) {
  const std::optional<double>& upper = better.p999.upper ? better.p999.upper : better.max.value;
  return !upper || !worse.p999.lower || *upper >= *worse.p999.lower;
}

/// "at p99.9 sr(nack) finishes first from 1 MiB to 8 MiB, ec(32,8) from 16 MiB to 8 GiB; level at
/// 512 KiB", for one swept setting and at most four stretches; empty when it cannot be said so.
std::string stretches_text(const Scenario& scenario, const Summary& summary) {
  struct Stretch {
    std::optional<size_t> who;  // absent: level
    std::string first, last;
  };
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < scenario.points.size(); ++i) {
    const Verdict& verdict = summary.verdicts[i];
    if (scenario.points[i].labels.size() != 1 || !verdict.winner) return {};
    const std::optional<size_t> who = verdict.level ? std::nullopt : verdict.winner;
    const std::string& label = scenario.points[i].labels.front().second;
    if (stretches.empty() || stretches.back().who != who) stretches.push_back({who, label, label});
    stretches.back().last = label;
  }
  if (stretches.size() < 2 || stretches.size() > 4) return {};
  std::string wins, level;
  for (const Stretch& s : stretches) {
    const std::string range = s.first == s.last ? fmt::format("at {}", s.first)
                                                : fmt::format("from {} to {}", s.first, s.last);
    if (!s.who) {
      level += fmt::format("{}{}", level.empty() ? "; level " : " and ", range);
      continue;
    }
    const std::string name = scenario.policies[*s.who].name();
    wins += wins.empty()
                ? fmt::format("at {} {} finishes first {}", tail_words(summary.tail), name, range)
                : fmt::format(", {} {}", name, range);
  }
  return wins.empty() ? std::string() : wins + level;
}

std::string count_text(const Scenario& scenario, const Summary& summary) {
  std::map<size_t, size_t> wins;  // policy -> points
  size_t level = 0, judged = 0;
  for (const Verdict& verdict : summary.verdicts) {
    if (!verdict.winner) continue;
    ++judged;
    if (verdict.level) {
      ++level;
    } else {
      ++wins[*verdict.winner];
    }
  }
  if (judged == 0) return "no message was delivered";
  std::vector<std::pair<size_t, size_t>> order(wins.begin(), wins.end());
  std::stable_sort(order.begin(), order.end(),
                   [](auto& a, auto& b) { return a.second > b.second; });
  if (order.empty())
    return fmt::format("the policies are level at {} at every point", tail_words(summary.tail));
  if (order.front().second == summary.verdicts.size()) {
    return fmt::format("{} finishes first at {} at all {} points",
                       scenario.policies[order.front().first].name(), tail_words(summary.tail),
                       judged);
  }
  std::string text;
  for (const auto& [policy, points] : order) {
    const std::string name = scenario.policies[policy].name();
    text += text.empty() ? fmt::format("{} finishes first at {} at {} of {} points", name,
                                       tail_words(summary.tail), points, judged)
                         : fmt::format(", {} at {}", name, points);
  }
  return level == 0 ? text : text + fmt::format("; level at {}", level);
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
  verdict.winner = best.policy;
  if (ranked.size() == 1) {
    verdict.text = fmt::format("{} at {}: {}", scenario.policies[best.policy].name(),
                               tail_words(summary.tail), standing(best, summary.tail));
    if (scenario.policies.size() > 1) verdict.text += "; no other policy delivered a message";
    return verdict;
  }
  verdict.runner_up = ranked[1]->policy;
  const SeriesSummary& slowest = slowest_of(ranked);
  verdict.slowest = slowest.policy;
  const double best_ps = tail_ps(best, summary.tail);
  if (best_ps > 0) {
    verdict.lead = tail_ps(*ranked[1], summary.tail) / best_ps;
    verdict.lead_on_slowest = tail_ps(slowest, summary.tail) / best_ps;
  }
  verdict.level = delivered_all(*ranked[1]) && verdict.lead < kLevelLead;
  verdict.uncertain = !verdict.level && summary.tail == Tail::p999 && delivered_all(*ranked[1]) &&
                      intervals_overlap(best.completion_ps, ranked[1]->completion_ps);
  verdict.text = verdict.level ? level_text(scenario, summary, ranked)
                               : winner_text(scenario, summary, verdict, ranked);
  return verdict;
}

std::optional<size_t> widest_lead(const Summary& summary) {
  std::optional<size_t> widest;
  for (size_t i = 0; i < summary.verdicts.size(); ++i) {
    const Verdict& verdict = summary.verdicts[i];
    if (verdict.level || !verdict.slowest) continue;
    if (!widest || verdict.lead_on_slowest > summary.verdicts[*widest].lead_on_slowest) widest = i;
  }
  return widest;
}

std::string headline(const Scenario& scenario, const Summary& summary) {
  if (summary.verdicts.size() == 1) return summary.verdicts.front().text;
  if (scenario.policies.size() == 1) {
    return fmt::format("{} at {} points; with a second policy this report would compare them",
                       scenario.policies.front().name(), summary.verdicts.size());
  }
  std::string text = stretches_text(scenario, summary);
  if (text.empty()) text = count_text(scenario, summary);
  if (const std::optional<size_t> point = widest_lead(summary)) {
    const Verdict& verdict = summary.verdicts[*point];
    text += fmt::format(
        ". Widest lead: {} {} faster than {}, at {}", scenario.policies[*verdict.winner].name(),
        format_factor(verdict.lead_on_slowest), scenario.policies[*verdict.slowest].name(),
        point_title(scenario.points[*point]));
  }
  return text;
}

}  // namespace longhaul
