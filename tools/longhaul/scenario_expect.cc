#include "tools/longhaul/scenario_expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tools/longhaul/scenario_keys.h"
#include "tools/longhaul/scenario_node.h"

namespace longhaul {
namespace {

using Metric = Expectation::Metric;
using yaml::Node;
using yaml::refuse;

static_assert(static_cast<int>(Metric::delivered_all) == 0 &&
                  static_cast<int>(Metric::retransmitted_packets) == 12,
              "the keys of section expect are in the order of Metric");

constexpr std::string_view kExample =
    "Write {policy: \"ec(32,8)\", below: 1.2}, without policy for all.";

/// Slowdown and regret compare with a bound that nothing beats.
bool is_ratio_to_bound(Metric metric) {
  return metric != Metric::delivered_all && metric != Metric::wire_overhead &&
         metric != Metric::retransmitted_packets;
}

std::string read_policy(const Node& node, const std::string& key,
                        const std::vector<PolicySpec>& policies) {
  const ParsedPolicy parsed = parse_policy(yaml::read_text(node, key + ".policy", "ec(32,8)"));
  if (!parsed.error.empty()) refuse(node, fmt::format("{}.policy: {}", key, parsed.error));
  if (std::find(policies.begin(), policies.end(), parsed.policy) == policies.end()) {
    std::string names;
    for (const PolicySpec& policy : policies) names += (names.empty() ? "" : ", ") + policy.name();
    refuse(node,
           fmt::format("{}.policy: {} is not a policy of this scenario", key, parsed.policy.name()),
           fmt::format("Its policies: {}.", names));
  }
  return parsed.policy.name();
}

void read_bounds(const Node& map, const std::string& key, Expectation& expectation) {
  const Node* below = map.find("below");
  const Node* above = map.find("above");
  if (below == nullptr && above == nullptr) {
    refuse(map, fmt::format("{} has neither below nor above", key), std::string(kExample));
  }
  if (below != nullptr) {
    expectation.below = yaml::read_number(*below, key + ".below");
    const double least = is_ratio_to_bound(expectation.metric) ? 1 : 0;
    if (expectation.below <= least) {
      refuse(*below, fmt::format("{}.below: {} can never hold", key, below->text),
             least > 0 ? "No transfer beats the bound: write a number above 1."
                       : "Write a number above 0.");
    }
  }
  if (above != nullptr) expectation.above = yaml::read_number(*above, key + ".above");
  if (above != nullptr && expectation.below <= expectation.above) {
    refuse(*above,
           fmt::format("{}: nothing is below {} and above {}", key, below->text, above->text),
           "Write above smaller than below.");
  }
}

Expectation read_expectation(const yaml::Entry& entry, const std::vector<PolicySpec>& policies) {
  const std::string& name = entry.key.text;
  const std::string key = yaml::joined_key("expect", name);
  const auto& metrics = scenario_keys("expect");
  Expectation expectation;
  expectation.below = std::numeric_limits<double>::infinity();
  expectation.above = -std::numeric_limits<double>::infinity();
  expectation.metric =
      static_cast<Metric>(std::find(metrics.begin(), metrics.end(), name) - metrics.begin());
  expectation.text = fmt::format("{}: {}", name, entry.value.spelled());
  expectation.where = entry.key.where();
  if (expectation.metric == Metric::delivered_all) {
    if (!entry.value.is_scalar() || entry.value.text != "all") {
      refuse(entry.value, fmt::format("{}: {} is not a condition", key, entry.value.described()),
             "Write delivered: all.");
    }
    return expectation;
  }
  if (!entry.value.is_map()) {
    refuse(entry.value, fmt::format("{}: {} is not a condition", key, entry.value.described()),
           std::string(kExample));
  }
  yaml::check_keys(entry.value, "expect.metric", key, scenario_keys("expect.metric"));
  if (const Node* policy = entry.value.find("policy")) {
    expectation.policy = read_policy(*policy, key, policies);
  }
  read_bounds(entry.value, key, expectation);
  return expectation;
}

}  // namespace

std::vector<Expectation> read_expectations(const Node& node,
                                           const std::vector<PolicySpec>& policies) {
  std::vector<Expectation> expectations;
  const std::span<const Node> maps =
      node.is_sequence() ? std::span(node.items) : std::span(&node, 1);
  for (const Node& map : maps) {
    if (!map.is_map()) {
      refuse(map, fmt::format("expect: {} is not a condition", map.described()),
             "Write delivered: all, or p999_slowdown: {policy: \"ec(32,8)\", below: 1.2}.");
    }
    yaml::check_keys(map, "expect", "expect", scenario_keys("expect"));
    for (const yaml::Entry& entry : map.entries) {
      expectations.push_back(read_expectation(entry, policies));
    }
  }
  return expectations;
}

}  // namespace longhaul
