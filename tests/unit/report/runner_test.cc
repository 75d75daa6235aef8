#include "tools/longhaul/runner.h"

#include <atomic>
#include <stdexcept>

#include "core/base/hash.h"
#include "tests/catch.h"
#include "tests/unit/report/fixtures.h"

namespace longhaul {
namespace {

using namespace fixtures;

Scenario scenario_of(size_t points, size_t seeds, uint64_t messages) {
  Scenario s;
  for (size_t i = 0; i < points; ++i) {
    s.points.push_back(point({{"message.size", std::to_string(i)}}));
    s.points.back().message_bytes = i;
  }
  s.policies = {selective_repeat(), erasure_code(32, 8), erasure_code(4, 1)};
  for (size_t i = 0; i < seeds; ++i) s.seeds.push_back(100 + i);
  s.messages_per_seed = messages;
  return s;
}

/// A sample that tells what it was made from.
sim::MessageSample fake(const sim::PathSpec&, const sim::MessageSpec& message, uint64_t seed,
                        uint64_t index) {
  sim::MessageSample s = sample(1);
  s.digest = mix64(mix64(message.bytes, message.policy.data_count), mix64(seed, index));
  return s;
}

RunOptions with_jobs(unsigned jobs) {
  RunOptions options;
  options.jobs = jobs;
  return options;
}

TEST_CASE("every sample is run once, with the right arguments, in order") {
  const Scenario scenario = scenario_of(3, 5, 7);
  const Results r = run_scenario(scenario, with_jobs(4), fake);
  CHECK(r.complete);
  CHECK(r.samples_wanted == 3 * 3 * 5 * 7);
  REQUIRE(r.series.size() == 9);
  for (size_t i = 0; i < r.series.size(); ++i) {
    const Series& series = r.series[i];
    CHECK(series.point == i / 3);
    CHECK(series.policy == i % 3);
    REQUIRE(series.samples.size() == 35);
    for (size_t j = 0; j < 35; ++j) {
      REQUIRE(series.seeds[j] == 100 + j / 7);
      REQUIRE(series.messages[j] == j % 7);
      const sim::MessageSample expected =
          fake({}, message_spec(scenario.points[series.point], scenario.policies[series.policy]),
               series.seeds[j], series.messages[j]);
      REQUIRE(series.samples[j].digest == expected.digest);
    }
  }
}

TEST_CASE("the result does not depend on the number of threads") {
  const Scenario scenario = scenario_of(2, 40, 3);
  const Results one = run_scenario(scenario, with_jobs(1), fake);
  for (const unsigned jobs : {2u, 3u, 8u, 500u}) {
    const Results many = run_scenario(scenario, with_jobs(jobs), fake);
    REQUIRE(many.series.size() == one.series.size());
    for (size_t i = 0; i < one.series.size(); ++i) {
      REQUIRE(many.series[i].seeds == one.series[i].seeds);
      for (size_t j = 0; j < one.series[i].samples.size(); ++j) {
        REQUIRE(many.series[i].samples[j].digest == one.series[i].samples[j].digest);
      }
    }
  }
}

TEST_CASE("a stop keeps what is finished, in order, and says that it is not all") {
  const Scenario scenario = scenario_of(2, 100, 1);
  std::atomic<bool> stop{false};
  std::atomic<int> calls{0};
  RunOptions options = with_jobs(1);
  options.stop = &stop;
  const Results r = run_scenario(
      scenario, options, [&](const auto& path, const auto& message, uint64_t seed, uint64_t index) {
        if (++calls == 31) stop = true;
        return fake(path, message, seed, index);
      });
  CHECK_FALSE(r.complete);
  CHECK(calls == 31);
  CHECK(r.samples_wanted == 600);
  // One thread works in order: ten messages of all three policies, and one more.
  CHECK(r.series[0].samples.size() == 11);
  CHECK(r.series[1].samples.size() == 10);
  CHECK(r.series[2].samples.size() == 10);
  CHECK(r.series[3].samples.empty());
  CHECK(r.series[0].seeds.back() == 110);
}

TEST_CASE("a stop reaches all threads") {
  const Scenario scenario = scenario_of(2, 1000, 1);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> calls{0};
  RunOptions options = with_jobs(8);
  options.stop = &stop;
  const Results r = run_scenario(
      scenario, options, [&](const auto& path, const auto& message, uint64_t seed, uint64_t index) {
        if (++calls == 100) stop = true;
        return fake(path, message, seed, index);
      });
  CHECK_FALSE(r.complete);
  uint64_t kept = 0;
  for (const Series& series : r.series) {
    kept += series.samples.size();
    for (size_t j = 1; j < series.seeds.size(); ++j) REQUIRE(series.seeds[j - 1] < series.seeds[j]);
  }
  CHECK(kept == calls);
  CHECK(calls < 6000);
}

TEST_CASE("a stop before the start runs nothing") {
  const std::atomic<bool> stop{true};
  RunOptions options = with_jobs(2);
  options.stop = &stop;
  const Results r = run_scenario(scenario_of(1, 3, 1), options, fake);
  CHECK_FALSE(r.complete);
  CHECK(r.series[0].samples.empty());
}

TEST_CASE("an exception ends the run and reaches the caller") {
  CHECK_THROWS_AS(
      run_scenario(scenario_of(1, 50, 1), with_jobs(4),
                   [](const auto& path, const auto& message, uint64_t seed, uint64_t index) {
                     if (seed == 120) throw std::bad_alloc();
                     return fake(path, message, seed, index);
                   }),
      std::bad_alloc);
}

TEST_CASE("the point's settings reach the simulator") {
  Point p = point();
  p.payload = sim::Payload::virtual_64;
  p.chunk_packets = 4;
  const sim::MessageSpec spec = message_spec(p, erasure_code(8, 2));
  CHECK(spec.bytes == p.message_bytes);
  CHECK(spec.policy == erasure_code(8, 2));
  CHECK(spec.payload == sim::Payload::virtual_64);
  CHECK(spec.chunk_packets == 4);
  CHECK(spec.give_up == Duration::seconds(60));
}

}  // namespace
}  // namespace longhaul
