#include "tools/longhaul/asked.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tools/longhaul/text.h"
#include "tools/longhaul/units.h"

namespace longhaul {

namespace {

constexpr size_t kListed = 8;

/// The different values of `describe` over the points, in order.
std::string over_points(const Scenario& scenario,
                        const std::function<std::string(const Point&)>& describe) {
  std::vector<std::string> values;
  for (const Point& point : scenario.points) {
    std::string value = describe(point);
    if (std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(std::move(value));
  }
  if (values.size() > kListed) {
    return fmt::format("{} to {} ({} values)", values.front(), values.back(), values.size());
  }
  // "a, b or c", but "a, b; c, d; or e" where the values have commas of their own.
  const bool commas = std::any_of(values.begin(), values.end(), [](const std::string& value) {
    return value.find(',') != std::string::npos;
  });
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool last = i + 1 == values.size();
    if (i > 0) text += commas ? (last ? "; or " : "; ") : (last ? " or " : ", ");
    text += values[i];
  }
  return text;
}

std::string describe_path(const Scenario& scenario) {
  std::string text =
      over_points(scenario, [](const Point& p) { return format_rate(p.path.rate_bps); });
  text +=
      ", RTT " + over_points(scenario, [](const Point& p) { return format_duration(rtt(p.path)); });
  text += ", bandwidth-delay product " + over_points(scenario, [](const Point& p) {
            return format_bytes(bandwidth_delay_bytes(p.path));
          });
  return text;
}

std::string describe_packets(const Scenario& scenario) {
  std::string text =
      "MTU " + over_points(scenario, [](const Point& p) { return format_bytes(p.path.mtu_bytes); });
  text += fmt::format(" + {} bytes of headers", over_points(scenario, [](const Point& p) {
                        return std::to_string(p.path.header_bytes);
                      }));
  text += ", queue of " +
          over_points(scenario, [](const Point& p) { return format_bytes(p.path.queue_bytes); });
  const bool nic = std::any_of(scenario.points.begin(), scenario.points.end(),
                               [](const Point& p) { return p.path.nic_rate_bps != 0; });
  if (!nic) return text;
  return text + ", NIC injects at " + over_points(scenario, [](const Point& p) {
           return format_rate(p.path.nic_rate_bps != 0 ? p.path.nic_rate_bps : p.path.rate_bps);
         });
}

std::string describe_message(const Scenario& scenario) {
  return over_points(scenario,
                     [](const Point& p) {
                       return fmt::format("{} ({} packets)", format_bytes(p.message_bytes),
                                          format_count(packets_of(p)));
                     }) +
         fmt::format(", chunks of {} packets",
                     over_points(scenario,
                                 [](const Point& p) { return std::to_string(p.chunk_packets); })) +
         ", given up after " +
         over_points(scenario, [](const Point& p) { return format_duration(p.give_up); });
}

std::string describe_payload(const Scenario& scenario) {
  return over_points(scenario, [](const Point& p) -> std::string {
    if (p.payload == sim::Payload::real)
      return "real: every byte is sent, coded and compared at delivery";
    return p.payload_note.empty() ? "virtual: a 64-bit tag stands for each packet"
                                  : "virtual: " + p.payload_note;
  });
}

std::string describe_seeds(const std::vector<uint64_t>& seeds) {
  if (seeds.empty()) return "no seeds";
  if (seeds.size() == 1) return fmt::format("seed {}", seeds.front());
  bool run = true;
  for (size_t i = 1; i < seeds.size(); ++i) run = run && seeds[i] == seeds[i - 1] + 1;
  if (run) return fmt::format("seeds {}..{}", seeds.front(), seeds.back());
  if (seeds.size() <= kListed) return fmt::format("seeds {}", fmt::join(seeds, ", "));
  return fmt::format("{} seeds from {}", seeds.size(), seeds.front());
}

std::string describe_samples(const Scenario& scenario) {
  const uint64_t each = scenario.seeds.size() * scenario.messages_per_seed;
  std::string text = fmt::format("{}, {} message{} each: {} samples of every policy",
                                 describe_seeds(scenario.seeds), scenario.messages_per_seed,
                                 scenario.messages_per_seed == 1 ? "" : "s", format_count(each));
  if (scenario.points.size() > 1)
    text += fmt::format(" at each of {} points", scenario.points.size());
  return text + "; all policies meet the same losses";
}

std::string backend_name(const std::string& backend) {
  return backend == "sim" ? "built-in simulator" : backend;
}

}  // namespace

Duration rtt(const sim::PathSpec& path) { return path.propagation * 2; }

uint64_t bandwidth_delay_bytes(const sim::PathSpec& path) {
  const auto bit_ps =
      static_cast<unsigned __int128>(path.rate_bps) * static_cast<uint64_t>(rtt(path).ps);
  return static_cast<uint64_t>(bit_ps / 8 / 1'000'000'000'000u);
}

uint64_t packets_of(const Point& point) {
  const uint64_t mtu = point.path.mtu_bytes;
  return point.message_bytes / mtu + (point.message_bytes % mtu != 0 ? 1 : 0);
}

std::vector<std::pair<std::string, std::string>> describe_asked(const Results& results) {
  const Scenario& scenario = results.scenario;
  std::vector<std::string> policies;
  for (const PolicySpec& policy : scenario.policies) policies.push_back(policy.name());
  return {
      {"path", describe_path(scenario)},
      {"packets", describe_packets(scenario)},
      {"data loss",
       over_points(scenario, [](const Point& p) { return describe_loss(p.path.loss); })},
      {"control loss",
       over_points(scenario, [](const Point& p) { return describe_loss(p.path.reverse_loss); })},
      {"message", describe_message(scenario)},
      {"payload", describe_payload(scenario)},
      {"policies", fmt::format("{}", fmt::join(policies, ", "))},
      {"samples", describe_samples(scenario)},
      {"backend", fmt::format("{}, commit {}", backend_name(results.backend), results.commit)},
  };
}

std::string describe_question(const Results& results) {
  const Scenario& scenario = results.scenario;
  const bool lossy = std::any_of(
      scenario.points.begin(), scenario.points.end(),
      [](const Point& p) { return can_lose(p.path.loss) || can_lose(p.path.reverse_loss); });
  std::string text = fmt::format(
      "A message of {} crosses a link of {} with a round trip of {}.",
      over_points(scenario, [](const Point& p) { return format_bytes(p.message_bytes); }),
      over_points(scenario, [](const Point& p) { return format_rate(p.path.rate_bps); }),
      over_points(scenario, [](const Point& p) { return format_duration(rtt(p.path)); }));
  text +=
      lossy ? " The link loses packets, and every policy below has its own way to make up for them."
            : " The link loses nothing, so what is compared is the price of being prepared.";
  const uint64_t each = scenario.seeds.size() * scenario.messages_per_seed;
  if (scenario.policies.size() > 1) {
    text += fmt::format(
        " All policies meet exactly the same losses, {} message{} each{}. Which one completes the "
        "message first, and how many bytes does it spend on that?",
        format_count(each), each == 1 ? "" : "s",
        scenario.points.size() > 1 ? " at every point" : "");
  } else {
    text += fmt::format(
        " {} message{} {} sent{}. How long does each take, and how many bytes does it cost?",
        format_count(each), each == 1 ? "" : "s", each == 1 ? "is" : "are",
        scenario.points.size() > 1 ? " at every point" : "");
  }
  return text;
}

}  // namespace longhaul
