#pragma once

/// Who finishes first, in numbers and in a sentence.

#include <string>

#include "tools/longhaul/summary.h"

namespace longhaul {

/// Leads below this count as level: nobody would choose by them.
inline constexpr double kLevelLead = 1.01;

/// Needs `summary.series` and `summary.tail`.
Verdict judge_point(const Scenario& scenario, const Summary& summary, size_t point);

/// Over all points: how often each policy finishes first, alone or level with others.
struct WinCounts {
  std::vector<std::pair<size_t, size_t>> wins;  ///< (policy, points), most first, no zeros
  size_t level = 0;                             ///< points at which no policy is behind
  size_t judged = 0;                            ///< points with a delivered message
};
WinCounts count_wins(const Scenario& scenario, const Summary& summary);

/// The point at which the winner leaves the slowest furthest behind; absent where nobody wins.
std::optional<size_t> widest_lead(const Summary& summary);

/// One or two sentences over all points. Needs `summary.verdicts`.
std::string headline(const Scenario& scenario, const Summary& summary);

}  // namespace longhaul
