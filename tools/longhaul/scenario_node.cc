#include "tools/longhaul/scenario_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/base/check.h"
#include "core/base/edit_distance.h"
#include "core/base/error.h"
#include "tools/longhaul/scenario_keys.h"

namespace longhaul {

const std::vector<ScenarioSection>& scenario_sections() {
  static const std::vector<ScenarioSection> sections{
      {"", {"name", "description", "path", "message", "policies", "seeds", "messages", "expect"}},
      {"path",
       {"distance", "rtt", "medium", "rate", "nic_rate", "mtu", "queue", "header", "loss",
        "reverse_loss"}},
      {"path.loss",
       {"model", "rate", "burst", "good_to_bad", "bad_to_good", "loss_in_good", "loss_in_bad",
        "drop", "drop_control"}},
      {"message", {"size", "chunk", "payload", "give_up"}},
      {"expect",
       {"delivered", "mean_slowdown", "p50_slowdown", "p99_slowdown", "p999_slowdown",
        "max_slowdown", "mean_regret", "p50_regret", "p99_regret", "p999_regret", "max_regret",
        "wire_overhead", "retransmitted_packets"}},
      {"expect.metric", {"policy", "below", "above"}},
  };
  return sections;
}

const std::vector<std::string_view>& scenario_keys(std::string_view section) {
  for (const ScenarioSection& candidate : scenario_sections()) {
    if (candidate.name == section) return candidate.keys;
  }
  LONGHAUL_CHECK(false);
  std::abort();
}

namespace yaml {
namespace {

std::string format_quantity(uint64_t value, Dimension dimension) {
  switch (dimension) {
    case Dimension::distance:
      return format_distance(value);
    case Dimension::time:
      return format_duration({static_cast<int64_t>(value)});
    case Dimension::rate:
      return format_rate(value);
    case Dimension::size:
      break;
  }
  return format_bytes(value);
}

/// "rate" at the top of the file is meant to stand under path.
std::string home_of(std::string_view key, std::string_view section) {
  for (const ScenarioSection& other : scenario_sections()) {
    if (other.name == section || other.name == "expect.metric") continue;
    if (std::find(other.keys.begin(), other.keys.end(), key) == other.keys.end()) continue;
    if (other.name.empty()) return fmt::format("{} belongs at the top of the file. ", key);
    return fmt::format("{} belongs under {}. ", key, other.name);
  }
  return {};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

struct CountRange {
  uint64_t first = 0, last = 0;
};

CountRange read_range(const Node& node, std::string_view key) {
  constexpr std::string_view kRemedy = "Write 7, 1..100 or [1, 5, 9].";
  if (!node.is_scalar()) {
    refuse(node, fmt::format("{}: {} is not a whole number", key, node.described()),
           std::string(kRemedy));
  }
  const std::string_view text = node.text;
  const size_t dots = text.find("..");
  const auto bound = [&](std::string_view part) {
    const ParsedCount count = parse_count(trimmed(part));
    if (!count.error.empty()) {
      refuse(node, fmt::format("{}: {}", key, count.error), std::string(kRemedy));
    }
    return count.value;
  };
  if (dots == std::string_view::npos) {
    const uint64_t only = bound(text);
    return {only, only};
  }
  const CountRange range{bound(text.substr(0, dots)), bound(text.substr(dots + 2))};
  if (range.first > range.last) {
    refuse(node, fmt::format("{}: {} runs backwards", key, text),
           fmt::format("Write {}..{}.", range.last, range.first));
  }
  return range;
}

}  // namespace

void refuse(const Node& node, std::string what, std::string remedy) {
  constexpr size_t kLongest = 400;  // of a value that was quoted, the beginning is enough
  if (what.size() > kLongest) {
    size_t end = kLongest;
    while ((static_cast<unsigned char>(what[end]) & 0xc0) == 0x80) --end;
    what = what.substr(0, end) + "...";
  }
  throw SetupError(node.where(), what, std::move(remedy));
}

std::string joined_key(std::string_view section, std::string_view key) {
  return section.empty() ? std::string(key) : fmt::format("{}.{}", section, key);
}

std::string joined_words(std::span<const std::string_view> words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

void check_keys(const Node& map, std::string_view section, std::string_view title,
                std::span<const std::string_view> keys) {
  for (const Entry& entry : map.entries) {
    const std::string& key = entry.key.text;
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::string nearest = nearest_word(key, keys);
    std::string hint = nearest.empty() ? std::string() : fmt::format("Did you mean {}? ", nearest);
    const std::string home = home_of(key, section);
    if (!home.empty()) hint = home;
    refuse(entry.key, fmt::format("{} has no key \"{}\"", title, key),
           fmt::format("{}Keys: {}.", hint, joined_words(keys)));
  }
}

const std::string& read_text(const Node& node, std::string_view key, std::string_view example) {
  if (!node.is_scalar() || node.text.empty()) {
    refuse(node,
           node.is_sequence() || node.is_map()
               ? fmt::format("{} is {}, not a single value", key, node.described())
               : fmt::format("{} has no value", key),
           fmt::format("Write for example {}: {}", key.substr(key.rfind('.') + 1), example));
  }
  return node.text;
}

uint64_t read_quantity(const Node& node, std::string_view key, Dimension dimension, uint64_t least,
                       uint64_t most) {
  const std::string& text = read_text(node, key, example_of(dimension));
  ParsedQuantity parsed = parse_quantity(text, dimension);
  if (!parsed.error.empty()) {
    refuse(node, fmt::format("{}: {}", key, parsed.error), std::move(parsed.remedy));
  }
  if (parsed.value < least || parsed.value > most) {
    refuse(node, fmt::format("{}: {} is out of range", key, text),
           fmt::format("Allowed: {} to {}.", format_quantity(least, dimension),
                       format_quantity(most, dimension)));
  }
  return parsed.value;
}

uint64_t read_count(const Node& node, std::string_view key, uint64_t least, uint64_t most) {
  const std::string& text = read_text(node, key, "10");
  const ParsedCount parsed = parse_count(text);
  if (!parsed.error.empty()) {
    refuse(node, fmt::format("{}: {}", key, parsed.error), "Write a whole number without a unit.");
  }
  if (parsed.value < least || parsed.value > most) {
    refuse(node, fmt::format("{}: {} is out of range", key, text),
           fmt::format("Allowed: {} to {}.", format_count(least), format_count(most)));
  }
  return parsed.value;
}

std::vector<uint64_t> read_counts(const Node& node, std::string_view key, uint64_t most) {
  if (node.kind == Node::Kind::null || (node.is_sequence() && node.items.empty())) {
    refuse(node, fmt::format("{} names no number", key), "Write 7, 1..100 or [1, 5, 9].");
  }
  const std::span<const Node> nodes =
      node.is_sequence() ? std::span(node.items) : std::span(&node, 1);
  std::vector<uint64_t> numbers;
  for (const Node& item : nodes) {
    const CountRange range = read_range(item, key);
    if (range.last - range.first >= most - numbers.size()) {
      refuse(item, fmt::format("{} names more than {} numbers", key, format_count(most)),
             "Write fewer.");
    }
    for (uint64_t number = range.first;; ++number) {
      numbers.push_back(number);
      if (number == range.last) break;
    }
  }
  std::vector<uint64_t> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    refuse(node, fmt::format("{} names {} twice", key, *twice), "Write every number once.");
  }
  return numbers;
}

double read_probability(const Node& node, std::string_view key) {
  ParsedNumber parsed = parse_probability(read_text(node, key, "1e-4"));
  if (!parsed.error.empty()) {
    refuse(node, fmt::format("{}: {}", key, parsed.error), std::move(parsed.remedy));
  }
  return parsed.value;
}

double read_number(const Node& node, std::string_view key) {
  const ParsedNumber parsed = parse_number(read_text(node, key, "1.2"));
  if (!parsed.error.empty()) {
    refuse(node, fmt::format("{}: {}", key, parsed.error),
           "Write a number of 0 or more, for example 1.2.");
  }
  return parsed.value;
}

size_t read_word(const Node& node, std::string_view key, std::span<const std::string_view> words) {
  const std::string& text = read_text(node, key, words.front());
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) {
    const std::string nearest = nearest_word(text, words);
    refuse(node, fmt::format("{}: there is no \"{}\"", key, text),
           fmt::format("{}Write one of: {}.",
                       nearest.empty() ? "" : fmt::format("Did you mean {}? ", nearest),
                       joined_words(words)));
  }
  return static_cast<size_t>(found - words.begin());
}

}  // namespace yaml
}  // namespace longhaul
