#include "tools/longhaul/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace longhaul {

std::string format_significant(double value, int digits) {
  if (value == 0) return "0";
  // The exponent after rounding: 9.9999 is 10.00 in four digits.
  const std::string rounded = fmt::format("{:.{}e}", value, digits - 1);
  const int magnitude = std::stoi(rounded.substr(rounded.find('e') + 1));
  if (magnitude < -5 || magnitude > 8) return fmt::format("{:.{}g}", value, digits);
  const int decimals = std::max(0, digits - 1 - magnitude);
  return fmt::format("{:.{}f}", value, decimals);
}

std::string format_factor(double value) {
  return fmt::format("{:.{}f}x", value, value < 1.1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0);
}

std::string format_percent(std::optional<double> share) {
  if (!share) return "-";
  if (*share == 0) return "0 %";
  return format_significant(*share * 100, *share < 0.1 ? 2 : 3) + " %";
}

std::string format_ratio(std::optional<double> value) {
  if (!value) return "-";
  return fmt::format("{:.{}f}", *value, *value < 10 ? 3 : *value < 100 ? 2 : 1);
}

std::string short_key(const std::string& key) {
  const size_t dot = key.find('.');
  return dot == std::string::npos ? key : key.substr(dot + 1);
}

std::string point_title(const Point& point) {
  if (point.labels.empty()) return "the only point";
  std::string title;
  for (const auto& [key, value] : point.labels) {
    if (!title.empty()) title += ", ";
    title += short_key(key) + " " + value;
  }
  return title;
}

bool can_lose(const LossSpec& loss) {
  return loss.model == LossModel::scripted ? !loss.drop_data.empty() || !loss.drop_control.empty()
                                           : loss.model != LossModel::none && loss.mean_loss() > 0;
}

std::string describe_loss(const LossSpec& loss) {
  switch (loss.model) {
    case LossModel::none:
      return "none";
    case LossModel::bernoulli:
      return fmt::format("independent, {:g} of packets", loss.rate);
    case LossModel::gilbert_elliott:
      return fmt::format(
          "bursts (Gilbert-Elliott), {:.3g} of packets on average, bad state {:.3g} packets long",
          loss.mean_loss(), 1 / loss.bad_to_good);
    case LossModel::scripted:
      return fmt::format("scripted: {} data and {} control packets by number",
                         loss.drop_data.size(), loss.drop_control.size());
  }
  return "unknown";
}

std::string explain_policy(const PolicySpec& policy) {
  const std::string repeat =
      policy.detection == PolicySpec::Detection::nack
          ? "the receiver reports what is missing and the sender sends it again"
          : fmt::format(
                "the sender sends a packet again when it has not been acknowledged within {:g} "
                "round trips",
                policy.rto_millirtt / 1000.0);
  if (policy.kind == PolicySpec::Kind::selective_repeat) return "Selective repeat: " + repeat + ".";
  return fmt::format(
      "Erasure code: {} parity packet{} sent along with every {} data packets, and any {} of these "
      "{} rebuild the "
      "data. When more are lost, {}.",
      policy.parity_count, policy.parity_count == 1 ? " is" : "s are", policy.data_count,
      policy.data_count, policy.data_count + policy.parity_count, repeat);
}

std::string join_words(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string join_some(const std::vector<std::string>& words, size_t most) {
  if (words.size() <= most + 1) return join_words(words);
  std::string text;
  for (size_t i = 0; i < most; ++i) text += (i > 0 ? ", " : "") + words[i];
  return text + fmt::format(" and {} more", words.size() - most);
}

std::string shell_quote(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

TimeUnit time_unit_for(double typical_ps) {
  if (typical_ps < 1e3) return {"ps", 1};
  if (typical_ps < 1e6) return {"ns", 1e3};
  if (typical_ps < 1e9) return {"us", 1e6};
  if (typical_ps < 1e12) return {"ms", 1e9};
  return {"s", 1e12};
}

}  // namespace longhaul
