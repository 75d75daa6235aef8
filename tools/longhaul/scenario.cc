#include "tools/longhaul/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/base/edit_distance.h"
#include "core/base/error.h"
#include "tools/longhaul/scenario_expect.h"
#include "tools/longhaul/scenario_keys.h"
#include "tools/longhaul/scenario_node.h"
#include "tools/longhaul/scenario_override.h"
#include "tools/longhaul/scenario_settings.h"

namespace longhaul {
namespace {

using yaml::Node;
using yaml::refuse;

/// A scenario is some kilobytes of text; whatever is larger is another file.
constexpr size_t kMaxFileBytes = 1 << 20;
constexpr uint64_t kMaxSamples = 10'000'000;
constexpr uint64_t kMaxMessages = kMaxSamples;
constexpr std::string_view kSeedsDefault = "1..100";

/// The file of the same folder whose name is nearest, for a mistyped one.
std::string nearest_file(const std::string& file) {
  const std::filesystem::path path(file);
  std::error_code error;
  std::vector<std::string> names;
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".yaml") names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const std::string nearest = nearest_word(path.filename().string(), names);
  return nearest.empty() ? nearest : (path.parent_path() / nearest).string();
}

std::string read_file(const std::string& file) {
  constexpr std::string_view kExamples =
      "Scenarios to start from are in scenarios/, such as "
      "scenarios/quickstart.yaml.";
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    throw SetupError(file, "this is a directory", "Name a scenario file in it.");
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    const std::string nearest = nearest_file(file);
    throw SetupError(
        file, fmt::format("cannot be opened: {}", std::strerror(errno)),
        nearest.empty() ? std::string(kExamples) : fmt::format("Did you mean {}?", nearest));
  }
  std::string text(kMaxFileBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) throw SetupError(file, "cannot be read", std::string(kExamples));
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.size() > kMaxFileBytes) {
    throw SetupError(file, "this is larger than 1 MiB, so not a scenario", std::string(kExamples));
  }
  return text;
}

Node read_tree(const std::string& file, const ScenarioOverrides& overrides) {
  Node root = yaml::parse(read_file(file), {file, true});
  if (root.kind == Node::Kind::null) {
    throw SetupError(file, "the file is empty", "Start from a copy of scenarios/quickstart.yaml.");
  }
  if (!root.is_map()) {
    refuse(root, fmt::format("a scenario is a map of settings, not {}", root.described()),
           "Start from a copy of scenarios/quickstart.yaml.");
  }
  for (const std::string& setting : overrides.settings) apply_override(root, setting);
  yaml::check_keys(root, "", "a scenario", scenario_keys(""));
  return root;
}

const Node& require(const Node& root, std::string_view key, std::string_view remedy) {
  const Node* node = root.find(key);
  if (node == nullptr)
    refuse(root, fmt::format("the scenario has no {}", key), std::string(remedy));
  return *node;
}

std::vector<PolicySpec> read_policies(const Node& node) {
  constexpr std::string_view kExample = "Write policies: [sr(nack), \"ec(32,8)\"].";
  const std::span<const Node> items =
      node.is_sequence() ? std::span(node.items) : std::span(&node, 1);
  if (items.empty() || node.kind == Node::Kind::null) {
    refuse(node, "policies is empty", std::string(kExample));
  }
  std::vector<PolicySpec> policies;
  for (const Node& item : items) {
    if (!item.is_scalar()) {
      refuse(item, fmt::format("policies: {} is not a policy", item.described()),
             std::string(kExample));
    }
    const ParsedPolicy parsed = parse_policy(item.text);
    if (!parsed.error.empty()) refuse(item, fmt::format("policies: {}", parsed.error));
    if (std::find(policies.begin(), policies.end(), parsed.policy) != policies.end()) {
      refuse(item, fmt::format("policies: {} is listed twice", parsed.policy.name()),
             "List every policy once.");
    }
    policies.push_back(parsed.policy);
  }
  return policies;
}

void read_seeds(const Node& root, const ScenarioOverrides& overrides, Scenario& scenario) {
  if (const Node* node = root.find("seeds")) {
    scenario.seeds = yaml::read_counts(*node, "seeds", kMaxSamples);
  } else {
    for (uint64_t seed = 1; seed <= 100; ++seed) scenario.seeds.push_back(seed);
  }
  if (!overrides.has_seed) return;
  const uint64_t count = scenario.seeds.size();
  if (overrides.seed > std::numeric_limits<uint64_t>::max() - (count - 1)) {
    throw SetupError(fmt::format("--seed {}", overrides.seed),
                     fmt::format("{} seeds counted from here do not fit in 64 bits", count),
                     "Write a smaller seed.");
  }
  for (uint64_t i = 0; i < count; ++i) scenario.seeds[i] = overrides.seed + i;
}

/// The first axis is the slowest.
std::vector<Point> expand(const std::vector<Axis>& axes, const Node& root) {
  uint64_t count = 1;
  for (const Axis& axis : axes) {
    const uint64_t before = count;
    count *= axis.choices.size();
    if (count > kMaxPoints) {
      refuse(
          *axis.node,
          fmt::format("too many points: {} listed here times {} before are {}",
                      format_count(axis.choices.size()), format_count(before), format_count(count)),
          fmt::format("At most {}; shorten a list.", format_count(kMaxPoints)));
    }
  }
  std::vector<Point> points;
  points.reserve(count);
  for (uint64_t index = 0; index < count; ++index) {
    Draft draft;
    uint64_t stride = count;
    for (const Axis& axis : axes) {
      stride /= axis.choices.size();
      const Choice& choice = axis.choices[index / stride % axis.choices.size()];
      choice.apply(draft);
      draft.point.labels.insert(draft.point.labels.end(), choice.labels.begin(),
                                choice.labels.end());
    }
    points.push_back(finish_point(std::move(draft), root));
  }
  return points;
}

void check_samples(const Scenario& scenario, const Node& root) {
  const uint64_t series = scenario.points.size() * scenario.policies.size();
  const auto samples =
      static_cast<unsigned __int128>(series) * scenario.seeds.size() * scenario.messages_per_seed;
  if (samples <= kMaxSamples) return;
  constexpr unsigned __int128 kMost = std::numeric_limits<uint64_t>::max();
  const Node* messages = root.find("messages");
  const Node* seeds = root.find("seeds");
  refuse(messages != nullptr ? *messages
         : seeds != nullptr  ? *seeds
                             : root,
         fmt::format("{} points x {} policies x {} seeds x {} messages are {} samples",
                     format_count(scenario.points.size()), scenario.policies.size(),
                     format_count(scenario.seeds.size()), format_count(scenario.messages_per_seed),
                     format_count(static_cast<uint64_t>(std::min(samples, kMost)))),
         fmt::format("At most {}: take fewer seeds or messages, or shorten a list.",
                     format_count(kMaxSamples)));
}

std::string read_line(const Node& root, std::string_view key, std::string fallback) {
  const Node* node = root.find(key);
  if (node == nullptr) return fallback;
  std::string text = yaml::read_text(*node, key, "my scenario");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string read_name(const Node& root, const std::string& file) {
  std::string name = read_line(root, "name", std::filesystem::path(file).stem().string());
  const Node* node = root.find("name");
  if (node != nullptr && (name.size() > 100 || name.find_first_of("/\n\t") != std::string::npos)) {
    refuse(*node, "name: a name is one short line without a slash",
           "Write for example name: quickstart.");
  }
  return name;
}

std::string effective_seeds(const Node& root, const ScenarioOverrides& overrides,
                            const Scenario& scenario) {
  if (overrides.has_seed) {
    if (scenario.seeds.size() == 1) return std::to_string(scenario.seeds.front());
    return fmt::format("{}..{}", scenario.seeds.front(), scenario.seeds.back());
  }
  const Node* node = root.find("seeds");
  return node == nullptr ? std::string(kSeedsDefault) : node->spelled();
}

void fill_effective(const Node& root, const ScenarioOverrides& overrides, Scenario& scenario) {
  auto& effective = scenario.effective;
  append_effective(*root.find("path"), "path", effective);
  append_effective(*root.find("message"), "message", effective);
  const bool one_give_up =
      std::all_of(scenario.points.begin(), scenario.points.end(),
                  [&](const Point& p) { return p.give_up == scenario.points.front().give_up; });
  if (root.find("message")->find("give_up") == nullptr) {
    effective.emplace_back("message.give_up",
                           one_give_up ? format_duration(scenario.points.front().give_up)
                                       : "60 s, or 1000 RTT or 10 wire times where longer");
  }
  std::string policies;
  for (const PolicySpec& policy : scenario.policies) {
    policies += (policies.empty() ? "" : ", ") + policy.name();
  }
  effective.emplace_back("policies", policies);
  effective.emplace_back("seeds", effective_seeds(root, overrides, scenario));
  effective.emplace_back("messages", std::to_string(scenario.messages_per_seed));
}

}  // namespace

Scenario load_scenario(const std::string& file, const ScenarioOverrides& overrides) {
  const Node root = read_tree(file, overrides);
  Scenario scenario;
  scenario.file = file;
  scenario.name = read_name(root, file);
  scenario.description = read_line(root, "description", {});
  require(root, "path", "Write path: and below it, indented, distance: 3750 km.");
  require(root, "message", "Write message: and below it, indented, size: 128 MiB.");
  std::vector<Axis> axes;
  for (const yaml::Entry& entry : root.entries) {
    if (entry.key.text == "path" || entry.key.text == "message") {
      read_section(entry.value, entry.key.text, axes);
    }
  }
  scenario.policies =
      read_policies(require(root, "policies", "Write policies: [sr(nack), \"ec(32,8)\"]."));
  read_seeds(root, overrides, scenario);
  if (const Node* node = root.find("messages")) {
    scenario.messages_per_seed = yaml::read_count(*node, "messages", 1, kMaxMessages);
  }
  if (const Node* node = root.find("expect")) {
    scenario.expectations = read_expectations(*node, scenario.policies);
  }
  scenario.points = expand(axes, root);
  check_samples(scenario, root);
  fill_effective(root, overrides, scenario);
  return scenario;
}

}  // namespace longhaul
