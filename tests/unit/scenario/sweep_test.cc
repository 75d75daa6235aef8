#include "tests/catch.h"
#include "tests/unit/scenario/scenario_file.h"
#include "tools/longhaul/scenario.h"

namespace longhaul {
namespace {

/// The labels of every point on a line of its own.
std::string labels_of(const Scenario& scenario) {
  std::string text;
  for (const Point& point : scenario.points) {
    for (const auto& [key, value] : point.labels) text += key + ": " + value + "; ";
    text += "\n";
  }
  return text;
}

TEST_CASE("Lists are swept in the order of the file, the first key slowest") {
  const Scenario scenario = load_text(
      "path:\n  rate: [100 Gb/s, 400 Gb/s]\n  distance: [350 km, 5000 km]\n"
      "message: {size: [1 MiB, 1 GiB]}\npolicies: sr\n");
  CHECK(labels_of(scenario) ==
        "path.rate: 100 Gb/s; path.distance: 350 km; message.size: 1 MiB; \n"
        "path.rate: 100 Gb/s; path.distance: 350 km; message.size: 1 GiB; \n"
        "path.rate: 100 Gb/s; path.distance: 5000 km; message.size: 1 MiB; \n"
        "path.rate: 100 Gb/s; path.distance: 5000 km; message.size: 1 GiB; \n"
        "path.rate: 400 Gb/s; path.distance: 350 km; message.size: 1 MiB; \n"
        "path.rate: 400 Gb/s; path.distance: 350 km; message.size: 1 GiB; \n"
        "path.rate: 400 Gb/s; path.distance: 5000 km; message.size: 1 MiB; \n"
        "path.rate: 400 Gb/s; path.distance: 5000 km; message.size: 1 GiB; \n");
  CHECK(scenario.points[3].path.rate_bps == 100'000'000'000);
  CHECK(scenario.points[3].path.propagation == Duration{24'485'000'000});
  CHECK(scenario.points[3].message_bytes == 1u << 30);
}

TEST_CASE("The sections' order counts too") {
  const Scenario scenario =
      load_text("message: {size: [1 MiB, 2 MiB]}\npolicies: sr\npath: {rtt: [1 ms, 2 ms]}\n");
  CHECK(labels_of(scenario) ==
        "message.size: 1 MiB; path.rtt: 1 ms; \nmessage.size: 1 MiB; path.rtt: 2 ms; \n"
        "message.size: 2 MiB; path.rtt: 1 ms; \nmessage.size: 2 MiB; path.rtt: 2 ms; \n");
}

TEST_CASE("A list of one is not a sweep") {
  CHECK(labels_of(load_text("path: {rtt: [1 ms]}\nmessage: {size: [1 B]}\npolicies: [sr]\n")) ==
        "\n");
}

TEST_CASE("Lists inside a loss model") {
  const Scenario scenario = load_text(
      "path:\n  rtt: 1 ms\n"
      "  loss: {model: gilbert_elliott, burst: [3, 10], rate: [1e-4, 0.1 %]}\n"
      "message: {size: 1 B}\npolicies: sr\n");
  CHECK(labels_of(scenario) ==
        "path.loss.burst: 3; path.loss.rate: 1e-4; \npath.loss.burst: 3; path.loss.rate: 0.1 %; \n"
        "path.loss.burst: 10; path.loss.rate: 1e-4; \npath.loss.burst: 10; path.loss.rate: 0.1 %; "
        "\n");
  CHECK(scenario.points[1].path.loss.bad_to_good == Approx(1.0 / 3));
  CHECK(scenario.points[1].path.loss.mean_loss() == Approx(1e-3));
  CHECK(scenario.points[1].path.reverse_loss.mean_loss() == Approx(1e-3));
}

TEST_CASE("A list of loss models, with a list inside one of them") {
  const Scenario scenario = load_text(
      "path:\n  rtt: 1 ms\n  loss:\n    - none\n    - {model: bernoulli, rate: [1e-4, 1e-3]}\n"
      "    - {model: scripted, drop: [3, 5]}\nmessage: {size: 1 B}\npolicies: sr\n");
  CHECK(labels_of(scenario) ==
        "path.loss: none; \npath.loss: bernoulli, rate 1e-4; \npath.loss: bernoulli, rate 1e-3; \n"
        "path.loss: scripted, drop [3, 5]; \n");
  CHECK(scenario.points[3].path.loss.drop_data == std::vector<uint64_t>{3, 5});
}

TEST_CASE("Both directions swept on their own") {
  const Scenario scenario = load_text(
      "path:\n  rtt: 1 ms\n  loss: {model: bernoulli, rate: [1e-4, 1e-3]}\n"
      "  reverse_loss: [none, {model: bernoulli, rate: 0.5}]\nmessage: {size: 1 B}\npolicies: "
      "sr\n");
  REQUIRE(scenario.points.size() == 4);
  CHECK(scenario.points[1].path.loss.rate == 1e-4);
  CHECK(scenario.points[1].path.reverse_loss.rate == 0.5);
  CHECK(scenario.points[2].path.loss.rate == 1e-3);
  CHECK(scenario.points[2].path.reverse_loss.model == LossModel::none);
}

ScenarioOverrides set(std::vector<std::string> settings) {
  ScenarioOverrides overrides;
  overrides.settings = std::move(settings);
  return overrides;
}

const std::string kLossy =
    "path:\n  distance: 3750 km\n  loss: {model: bernoulli, rate: 1e-4}\n"
    "message: {size: 1 MiB}\npolicies: [sr(nack), ec(32,8)]\nseeds: 1..10\n"
    "expect:\n  - p99_slowdown: {policy: ec(32,8), below: 1.5}\n";

TEST_CASE("--set replaces, creates and removes") {
  CHECK(load_text(kLossy, set({"path.loss.rate=1e-3"})).points[0].path.loss.rate == 1e-3);
  CHECK(load_text(kLossy, set({"path.rate=100 Gb/s"})).points[0].path.rate_bps == 100'000'000'000);
  CHECK(
      load_text(kLossy, set({"path.rate=100Gb/s", "path.rate=200Gb/s"})).points[0].path.rate_bps ==
      200'000'000'000);
  CHECK(load_text(kLossy, set({"path.loss=none"})).points[0].path.loss.model == LossModel::none);
  CHECK(load_text(kLossy, set({"path.loss={model: bernoulli, rate: 2 %}"}))
            .points[0]
            .path.loss.rate == 0.02);
  CHECK(load_text(kLossy, set({"path.loss="})).points[0].path.loss.model == LossModel::none);
  CHECK(load_text(kLossy, set({"seeds=4..6"})).seeds == std::vector<uint64_t>{4, 5, 6});
  CHECK(load_text(kLossy, set({"name=mine"})).name == "mine");
  CHECK(load_text(kLossy, set({"path.rtt=10 ms", "path.distance="})).points[0].path.propagation ==
        Duration::milliseconds(5));
  CHECK(load_text(kLossy, set({"path.nothing=", "no.such.thing="})).points.size() == 1);
  CHECK(load_text("{}", set({"path.rtt=1 ms", "message.size=1 B", "policies=sr"})).points.size() ==
        1);
}

TEST_CASE("--set with commas inside parentheses") {
  const Scenario scenario =
      load_text(kLossy, set({"policies=[sr(rto=3rtt), ec(32,8), ec(16,4,fallback=0.25rtt)]"}));
  REQUIRE(scenario.policies.size() == 3);
  CHECK(scenario.policies[2].name() == "ec(16,4,fallback=0.25rtt)");
  CHECK(load_text(kLossy, set({"policies=ec(32,8)"})).policies.size() == 1);
}

TEST_CASE("A list in --set is swept, in the place of the key that it replaces") {
  const Scenario replaced =
      load_text("path: {rtt: 1 ms, rate: [1 Gb/s, 2 Gb/s]}\nmessage: {size: 1 B}\npolicies: sr\n",
                set({"path.rtt=[3 ms, 4 ms]"}));
  CHECK(labels_of(replaced) ==
        "path.rtt: 3 ms; path.rate: 1 Gb/s; \npath.rtt: 3 ms; path.rate: 2 Gb/s; \n"
        "path.rtt: 4 ms; path.rate: 1 Gb/s; \npath.rtt: 4 ms; path.rate: 2 Gb/s; \n");
  const Scenario inside = load_text(kLossy, set({"path.loss.rate=[1e-3, 1e-2]"}));
  CHECK(labels_of(inside) == "path.loss.rate: 1e-3; \npath.loss.rate: 1e-2; \n");
}

TEST_CASE("Errors of --set name the setting") {
  const auto [setting, error] = GENERATE(table<std::string, std::string>({
      {"path.rate=100",
       "--set path.rate=100: path.rate: \"100\" has no unit\n  Write a unit, for example 400 Gb/s. "
       "Units of rate: b/s, kb/s, Mb/s, Gb/s, Tb/s."},
      {"path.los.rate=1e-3",
       "--set path.los.rate=1e-3: path has no key \"los\"\n  Did you mean loss? Keys: distance, "
       "rtt, medium, rate, nic_rate, mtu, queue, header, loss, reverse_loss."},
      {"path.loss.rat=1e-3",
       "--set path.loss.rat=1e-3: path.loss with model bernoulli has no key \"rat\"\n  Did you "
       "mean "
       "rate? Keys: model, rate."},
      {"path.distance.km=3",
       "--set path.distance.km=3: path.distance is \"3750 km\" in the file, so it has no km\n  "
       "Replace it as a whole: --set 'path.distance={...}'."},
      {"path.rtt=1 ms",
       "--set path.rtt=1 ms: path.rtt contradicts path.distance: each fixes the round-trip time\n  "
       "Keep one of the two; on the command line --set path.distance= removes the distance."},
      {"path.loss={model: bernoulli",
       "--set path.loss={model: bernoulli: not valid YAML: end of map flow not found\n  Check the "
       "indentation, the space after each colon, and that brackets and quotes are closed."},
      {"path.loss={rate: 1e-4, rate: 1e-3}",
       "--set path.loss={rate: 1e-4, rate: 1e-3}: \"rate\" is given twice\n  Keep one of the two."},
      {"path.rate",
       "--set path.rate: this is not key=value\n  Write for example --set "
       "path.loss.rate=1e-3."},
      {"=3", "--set =3: this is not key=value\n  Write for example --set path.loss.rate=1e-3."},
      {"path..rate=3",
       "--set path..rate=3: the key has an empty part\n  Write for example --set "
       "path.rate=100Gb/s."},
      {"policies=[ec(32,8)]\n---\nmore",
       "--set policies=[ec(32,8)]\n---\nmore: a second YAML document begins\n  Keep one scenario "
       "in "
       "a file; remove the line with ---."},
  }));
  CHECK(error_of_text(kLossy, set({setting})) == error);
}

TEST_CASE("What --set replaced is where it stands from then on") {
  const std::string text = kSmallest + "expect: {mean_slowdown: {below: 2}}\n";
  const std::string setting = "expect.mean_slowdown={below: 3}";
  const Scenario scenario = load_text(text, set({setting}));
  REQUIRE(scenario.expectations.size() == 1);
  CHECK(scenario.expectations[0].below == 3);
  CHECK(scenario.expectations[0].where == "--set " + setting);
}

TEST_CASE("Removing what is required is an error at the rest") {
  CHECK(error_of_text(kLossy, set({"message.size="})) ==
        "FILE:4:10: message has no size\n  Write size: 128 MiB.");
}

TEST_CASE("--seed takes as many seeds from its number on") {
  ScenarioOverrides overrides;
  overrides.has_seed = true;
  overrides.seed = 1000;
  const Scenario scenario = load_text(kSmallest + "seeds: [1, 5, 9]\n", overrides);
  CHECK(scenario.seeds == std::vector<uint64_t>{1000, 1001, 1002});
  CHECK(scenario.effective[scenario.effective.size() - 2] ==
        std::pair<std::string, std::string>{"seeds", "1000..1002"});

  const Scenario single = load_text(kSmallest + "seeds: 5\n", overrides);
  CHECK(single.seeds == std::vector<uint64_t>{1000});
  CHECK(single.effective[single.effective.size() - 2].second == "1000");

  overrides.seed = ~uint64_t{0} - 1;
  CHECK(error_of_text(kSmallest + "seeds: 1..3\n", overrides) ==
        "--seed 18446744073709551614: 3 seeds counted from here do not fit in 64 bits\n  Write a "
        "smaller seed.");
  overrides.seed = ~uint64_t{0} - 2;
  CHECK(load_text(kSmallest + "seeds: 1..3\n", overrides).seeds.back() == ~uint64_t{0});
}

}  // namespace
}  // namespace longhaul
