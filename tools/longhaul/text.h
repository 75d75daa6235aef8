#pragma once

/// Words and numbers that the table and the report share.

#include <optional>
#include <string>
#include <vector>

#include "tools/longhaul/scenario.h"

namespace longhaul {

/// `digits` significant digits without an exponent where that stays short: "39.61", "0.0123",
/// "1.2e-07".
std::string format_significant(double value, int digits = 4);
/// "1.003x", "1.25x", "12.5x".
std::string format_factor(double value);
/// "12.3 %"; "-" when absent.
std::string format_percent(std::optional<double> share);
/// `value` with two to four digits, or "-" when absent.
std::string format_ratio(std::optional<double> value);

/// Without the section: "path.distance" -> "distance", "path.loss.rate" -> "loss.rate".
std::string short_key(const std::string& key);
/// "distance 3750 km, rate 100 Gb/s"; "the only point" when nothing is swept.
std::string point_title(const Point& point);
/// "independent, 0.001 of the packets", "none", ...
std::string describe_loss(const LossSpec& loss);
/// Whether any packet of this direction can be lost.
bool can_lose(const LossSpec& loss);

/// One sentence for readers new to it: what the policy does about a lost packet.
std::string explain_policy(const PolicySpec& policy);

/// "a, b and c".
std::string join_words(const std::vector<std::string>& words);
/// "a, b, c and 5 more" for a long list.
std::string join_some(const std::vector<std::string>& words, size_t most);

/// Quotes a word for a POSIX shell when it needs it.
std::string shell_quote(const std::string& word);

/// A unit of time that makes `typical_ps` a number between 1 and 1000.
struct TimeUnit {
  const char* name;
  double ps;
};
TimeUnit time_unit_for(double typical_ps);

}  // namespace longhaul
