#include "tools/longhaul/scenario.h"

#include <cmath>
#include <limits>

#include "tests/catch.h"
#include "tests/unit/scenario/scenario_file.h"

namespace longhaul {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

const std::string kEverything = R"(
name: everything
description: >
  Two lines
  in one.
path:
  distance: 5000 km
  medium: hollow_core
  rate: 800 Gb/s
  nic_rate: 1.6 Tb/s
  mtu: 8 KiB
  queue: 128 MiB
  header: 90 B
  loss: {model: gilbert_elliott, rate: 1e-3, burst: 10}
  reverse_loss: {model: bernoulli, rate: 2 %}
message:
  size: 2 GiB
  chunk: 32 KiB
  payload: real
  give_up: 90 s
policies:
  - sr(rto=2.5rtt)
  - ec(16,4,fallback=0.25rtt)
seeds: [9, 1..3]
messages: 5
expect:
  - delivered: all
  - p999_slowdown: {policy: ec(16,4,fallback=0.25rtt), below: 1.2}
  - retransmitted_packets: {above: 2, below: 1e6}
)";

TEST_CASE("Every setting arrives where it belongs") {
  const Scenario scenario = load_text(kEverything);
  CHECK(scenario.name == "everything");
  CHECK(scenario.description == "Two lines in one.");
  REQUIRE(scenario.points.size() == 1);
  const Point& point = scenario.points[0];
  CHECK(point.labels.empty());
  CHECK(point.path.propagation == Duration::microseconds(16'750));
  CHECK(point.path.rate_bps == 800'000'000'000);
  CHECK(point.path.nic_rate_bps == 1'600'000'000'000);
  CHECK(point.path.mtu_bytes == 8192);
  CHECK(point.path.queue_bytes == 128u << 20);
  CHECK(point.path.header_bytes == 90);
  CHECK(point.path.loss.model == LossModel::gilbert_elliott);
  CHECK(point.path.loss.mean_loss() == Approx(1e-3));
  CHECK(point.path.loss.bad_to_good == Approx(0.1));
  CHECK(point.path.reverse_loss.model == LossModel::bernoulli);
  CHECK(point.path.reverse_loss.rate == 0.02);
  CHECK(point.message_bytes == uint64_t{2} << 30);
  CHECK(point.chunk_packets == 4);
  CHECK(point.payload == sim::Payload::real);
  CHECK(point.payload_note.empty());
  CHECK(point.give_up == Duration::seconds(90));

  REQUIRE(scenario.policies.size() == 2);
  CHECK(scenario.policies[0].name() == "sr(rto=2.5rtt)");
  CHECK(scenario.policies[1].name() == "ec(16,4,fallback=0.25rtt)");
  CHECK(scenario.seeds == std::vector<uint64_t>{9, 1, 2, 3});
  CHECK(scenario.messages_per_seed == 5);

  REQUIRE(scenario.expectations.size() == 3);
  CHECK(scenario.expectations[0].metric == Expectation::Metric::delivered_all);
  CHECK(scenario.expectations[0].text == "delivered: all");
  const Expectation& tail = scenario.expectations[1];
  CHECK(tail.metric == Expectation::Metric::p999_slowdown);
  CHECK(tail.policy == "ec(16,4,fallback=0.25rtt)");
  CHECK(tail.below == 1.2);
  CHECK((std::isinf(tail.above) && tail.above < 0));
  CHECK(tail.text == "p999_slowdown: {policy: ec(16,4,fallback=0.25rtt), below: 1.2}");
  CHECK_THAT(tail.where, ContainsSubstring("test.yaml:28:5"));
  const Expectation& repeats = scenario.expectations[2];
  CHECK(repeats.metric == Expectation::Metric::retransmitted_packets);
  CHECK(repeats.policy.empty());
  CHECK(repeats.above == 2);
  CHECK(repeats.below == 1e6);
}

TEST_CASE("Defaults") {
  const Scenario scenario = load_text(kSmallest);
  CHECK(scenario.name == "test");  // the file's
  CHECK(scenario.description.empty());
  REQUIRE(scenario.points.size() == 1);
  const Point& point = scenario.points[0];
  CHECK(point.path.propagation == Duration{18'363'750'000});  // 3750 km at 4.897 us/km
  CHECK(point.path.rate_bps == 400'000'000'000);
  CHECK(point.path.nic_rate_bps == 0);
  CHECK(point.path.mtu_bytes == 4096);
  CHECK(point.path.queue_bytes == 64u << 20);
  CHECK(point.path.header_bytes == 102);
  CHECK(point.path.loss.model == LossModel::none);
  CHECK(point.path.reverse_loss.model == LossModel::none);
  CHECK(point.chunk_packets == 16);
  CHECK(point.payload == sim::Payload::real);
  CHECK(point.give_up == Duration::seconds(60));
  CHECK(scenario.seeds.size() == 100);
  CHECK(scenario.seeds.front() == 1);
  CHECK(scenario.seeds.back() == 100);
  CHECK(scenario.messages_per_seed == 1);
  CHECK(scenario.expectations.empty());
}

TEST_CASE("The effective settings hold the defaults too") {
  const Labels expected{{"path.distance", "3750 km"},
                        {"path.medium", "fibre"},
                        {"path.rate", "400 Gb/s"},
                        {"path.nic_rate", "as path.rate"},
                        {"path.mtu", "4 KiB"},
                        {"path.queue", "64 MiB"},
                        {"path.header", "102 B"},
                        {"path.loss", "none"},
                        {"path.reverse_loss", "as path.loss, drawn independently"},
                        {"message.size", "1 MiB"},
                        {"message.chunk", "16 packets"},
                        {"message.payload", "auto"},
                        {"message.give_up", "60 s"},
                        {"policies", "sr(nack)"},
                        {"seeds", "1..100"},
                        {"messages", "1"}};
  CHECK(load_text(kSmallest).effective == expected);
}

TEST_CASE("The way of the light") {
  const auto propagation_ps = [](const std::string& path) {
    return load_text("path: {" + path + "}\nmessage: {size: 1 B}\npolicies: sr\n")
        .points[0]
        .path.propagation.ps;
  };
  CHECK(propagation_ps("distance: 1000 km") == 4'897'000'000);
  CHECK(propagation_ps("distance: 1000 km, medium: vacuum") == 3'335'640'950);
  CHECK(propagation_ps("distance: 1000 km, medium: hollow_core") == 3'350'000'000);
  CHECK(propagation_ps("distance: 1.001 km, medium: vacuum") == 3'338'977);  // rounded
  CHECK(propagation_ps("rtt: 37.5 ms") == 18'750'000'000);
  CHECK(propagation_ps("rtt: 1 us") == 500'000);
  CHECK(propagation_ps("rtt: 10 s") == 5'000'000'000'000);
}

TEST_CASE("Loss models") {
  const auto path_of = [](const std::string& lines) {
    return load_text("path:\n  rtt: 1 ms\n" + lines + "message: {size: 1 B}\npolicies: sr\n")
        .points[0]
        .path;
  };
  const sim::PathSpec bernoulli = path_of("  loss: {model: bernoulli, rate: 0.01%}\n");
  CHECK(bernoulli.loss.model == LossModel::bernoulli);
  CHECK(bernoulli.loss.rate == 1e-4);
  CHECK(bernoulli.reverse_loss.rate == 1e-4);  // follows

  const sim::PathSpec four = path_of(
      "  loss: {model: gilbert_elliott, good_to_bad: 0.001, bad_to_good: 0.2, loss_in_good: 1e-6, "
      "loss_in_bad: 0.5}\n  reverse_loss: none\n");
  CHECK(four.loss.good_to_bad == 0.001);
  CHECK(four.loss.bad_to_good == 0.2);
  CHECK(four.loss.loss_in_good == 1e-6);
  CHECK(four.loss.loss_in_bad == 0.5);
  CHECK(four.reverse_loss.model == LossModel::none);

  const sim::PathSpec two =
      path_of("  loss: {model: gilbert_elliott, good_to_bad: 0.001, bad_to_good: 0.2}\n");
  CHECK(two.loss.loss_in_good == 0);
  CHECK(two.loss.loss_in_bad == 1);

  const sim::PathSpec scripted =
      path_of("  loss: {model: scripted, drop: [7, 0, 3..5], drop_control: 2}\n");
  CHECK(scripted.loss.model == LossModel::scripted);
  CHECK(scripted.loss.drop_data == std::vector<uint64_t>{0, 3, 4, 5, 7});
  CHECK(scripted.loss.drop_control == std::vector<uint64_t>{2});
  CHECK(scripted.reverse_loss.model == LossModel::none);  // packet numbers mean nothing there

  CHECK(path_of("  loss: {model: none}\n").loss.model == LossModel::none);
}

TEST_CASE("Payload is real where it fits, and a note says when it is not") {
  const auto point_of = [](const std::string& message) {
    return load_text("path: {rtt: 1 ms}\nmessage: {" + message + "}\npolicies: sr\n").points[0];
  };
  CHECK(point_of("size: 0 B").payload == sim::Payload::real);
  CHECK(point_of("size: 1 GiB").payload == sim::Payload::real);
  CHECK(point_of("size: 1 GiB").payload_note.empty());
  CHECK(point_of("size: 1073741825 B").payload == sim::Payload::virtual_64);
  CHECK(point_of("size: 2 GiB").payload_note ==
        "a 64-bit tag per packet is moved, coded and compared in place of its bytes, because 2 GiB "
        "is above 1 GiB");
  CHECK(point_of("size: 1 B, payload: virtual").payload == sim::Payload::virtual_64);
  CHECK(point_of("size: 1 B, payload: virtual").payload_note ==
        "a 64-bit tag per packet is moved, coded and compared in place of its bytes, as the "
        "scenario asks");
  CHECK(point_of("size: 8 GiB, payload: real").payload == sim::Payload::real);
}

TEST_CASE("The default give-up time grows with round trip and wire time") {
  const auto give_up = [](const std::string& path, const std::string& size) {
    return load_text("path: {" + path + "}\nmessage: {size: " + size + "}\npolicies: sr\n")
        .points[0]
        .give_up;
  };
  CHECK(give_up("rtt: 60 ms", "1 MiB") == Duration::seconds(60));
  CHECK(give_up("rtt: 300 ms", "1 MiB") == Duration::seconds(300));
  CHECK(give_up("rtt: 1 ms, rate: 8 Mb/s, header: 0 B", "10 MB") == Duration::seconds(100));
  CHECK(give_up("rtt: 1 ms, rate: 1 Gb/s, nic_rate: 8 Mb/s, header: 0 B", "10 MB") ==
        Duration::seconds(100));
}

TEST_CASE("A chunk in packets follows a swept MTU") {
  const Scenario packets = load_text(
      "path: {rtt: 1 ms, mtu: [1 KiB, 8 KiB]}\nmessage: {size: 1 MiB, chunk: 4 packets}\n"
      "policies: sr\n");
  CHECK(packets.points[0].chunk_packets == 4);
  CHECK(packets.points[1].chunk_packets == 4);
  const Scenario bytes = load_text(
      "path: {rtt: 1 ms, mtu: [1 KiB, 8 KiB]}\nmessage: {size: 1 MiB, chunk: 16 KiB}\n"
      "policies: sr\n");
  CHECK(bytes.points[0].chunk_packets == 16);
  CHECK(bytes.points[1].chunk_packets == 2);
}

TEST_CASE("Expectations as one map") {
  const Scenario scenario =
      load_text(kSmallest + "expect:\n  delivered: all\n  mean_regret:\n    below: 1.5\n");
  REQUIRE(scenario.expectations.size() == 2);
  CHECK(scenario.expectations[1].metric == Expectation::Metric::mean_regret);
  CHECK(scenario.expectations[1].text == "mean_regret: {below: 1.5}");
}

TEST_CASE("Every metric has its key") {
  using Metric = Expectation::Metric;
  const auto [key, metric] = GENERATE(table<std::string, Metric>({
      {"mean_slowdown", Metric::mean_slowdown},
      {"p50_slowdown", Metric::p50_slowdown},
      {"p99_slowdown", Metric::p99_slowdown},
      {"p999_slowdown", Metric::p999_slowdown},
      {"max_slowdown", Metric::max_slowdown},
      {"mean_regret", Metric::mean_regret},
      {"p50_regret", Metric::p50_regret},
      {"p99_regret", Metric::p99_regret},
      {"p999_regret", Metric::p999_regret},
      {"max_regret", Metric::max_regret},
      {"wire_overhead", Metric::wire_overhead},
      {"retransmitted_packets", Metric::retransmitted_packets},
  }));
  const Scenario scenario = load_text(kSmallest + "expect: {" + key + ": {below: 2}}\n");
  REQUIRE(scenario.expectations.size() == 1);
  CHECK(scenario.expectations[0].metric == metric);
}

TEST_CASE("Seeds") {
  CHECK(load_text(kSmallest + "seeds: 7\n").seeds == std::vector<uint64_t>{7});
  CHECK(load_text(kSmallest + "seeds: 3..5\n").seeds == std::vector<uint64_t>{3, 4, 5});
  CHECK(load_text(kSmallest + "seeds: 5..5\n").seeds == std::vector<uint64_t>{5});
  CHECK(load_text(kSmallest + "seeds: 0 .. 2\n").seeds == std::vector<uint64_t>{0, 1, 2});
  CHECK(load_text(kSmallest + "seeds: [5, 1]\n").seeds == std::vector<uint64_t>{5, 1});
  CHECK(load_text(kSmallest + "seeds: 18446744073709551614..18446744073709551615\n").seeds ==
        std::vector<uint64_t>{~uint64_t{1}, ~uint64_t{0}});
  CHECK(load_text(kSmallest + "seeds: 1..10000000\n").seeds.size() == 10'000'000);
}

TEST_CASE("A file with a byte order mark and Windows line ends") {
  const Scenario scenario = load_text(
      "\xef\xbb\xbfpath:\r\n  rtt: 1 ms\r\nmessage:\r\n  size: 1 B\r\npolicies:\r\n  - sr\r\n");
  CHECK(scenario.points[0].path.propagation == Duration::microseconds(500));
}

}  // namespace
}  // namespace longhaul
