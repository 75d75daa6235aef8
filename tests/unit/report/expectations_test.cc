#include "tools/longhaul/expectations.h"

#include "tests/catch.h"
#include "tests/unit/report/fixtures.h"

namespace longhaul {
namespace {

using namespace fixtures;
using Metric = Expectation::Metric;

/// Two points, two policies; slowdowns 1.5, 2.5, 3.5, 4.5 in the order of the series.
Results four_series() {
  Results r = results({point({{"path.distance", "1 km"}}), point({{"path.distance", "2 km"}})},
                      {selective_repeat(), erasure_code(32, 8)});
  for (size_t i = 0; i < 4; ++i) add_ramp(r, i, 10, 150 + 100 * static_cast<int64_t>(i), 0);
  return r;
}

ExpectationResult check(Results r, const Expectation& e) {
  r.scenario.expectations = {e};
  return summarize(r).expectations.front();
}

TEST_CASE("an expectation holds at every point and policy it covers") {
  ExpectationResult result = check(four_series(), expectation(Metric::max_slowdown, 4.6));
  CHECK(result.passed);
  CHECK(result.worst == 4.5);
  CHECK_THAT(result.text,
             ContainsSubstring("4.500 with ec(32,8) at distance 2 km, wanted below 4.6"));

  CHECK_FALSE(check(four_series(), expectation(Metric::max_slowdown, 4.5)).passed);
  CHECK(check(four_series(), expectation(Metric::max_slowdown, 3.6, "sr(nack)")).passed);
  CHECK_FALSE(check(four_series(), expectation(Metric::max_slowdown, 3.4, "sr(nack)")).passed);
}

TEST_CASE("a lower bound looks at the smallest value") {
  Expectation e = expectation(Metric::mean_slowdown, std::numeric_limits<double>::infinity());
  e.above = 1.4;
  ExpectationResult result = check(four_series(), e);
  CHECK(result.passed);
  CHECK(result.worst == 1.5);
  e.above = 1.6;
  CHECK_FALSE(check(four_series(), e).passed);
  e.above = 1;
  e.below = 4;
  result = check(four_series(), e);
  CHECK_FALSE(result.passed);
  CHECK_THAT(result.text, ContainsSubstring("wanted above 1 and below 4"));
}

TEST_CASE("every metric is measured") {
  struct Row {
    Metric metric;
    double value;
  };
  const Row row = GENERATE(values<Row>({{Metric::mean_slowdown, 1.5},
                                        {Metric::p50_slowdown, 1.5},
                                        {Metric::p99_slowdown, 1.5},
                                        {Metric::p999_slowdown, 1.5},
                                        {Metric::max_slowdown, 1.5},
                                        {Metric::mean_regret, 0.75},
                                        {Metric::p50_regret, 0.75},
                                        {Metric::p99_regret, 0.75},
                                        {Metric::p999_regret, 0.75},
                                        {Metric::max_regret, 0.75},
                                        {Metric::wire_overhead, 1.1},
                                        {Metric::retransmitted_packets, 10}}));
  Results r = results({point()}, {selective_repeat()});
  add_ramp(r, 0, 10, 150, 0);
  CAPTURE(static_cast<int>(row.metric));
  CHECK(check(r, expectation(row.metric, row.value * 1.001)).passed);
  CHECK_FALSE(check(r, expectation(row.metric, row.value * 0.999)).passed);
  CHECK(check(r, expectation(row.metric, 100)).worst == Approx(row.value));
}

TEST_CASE("p99.9 of few samples is called what it is") {
  CHECK_THAT(check(four_series(), expectation(Metric::p999_slowdown, 9)).text,
             ContainsSubstring("of 10 samples this percentile is the maximum"));
}

TEST_CASE("delivered: all") {
  const Expectation e = expectation(Metric::delivered_all, std::numeric_limits<double>::infinity());
  CHECK(check(four_series(), e).passed);
  Results r = four_series();
  add(r, 3, failed_sample());
  const ExpectationResult result = check(r, e);
  CHECK_FALSE(result.passed);
  CHECK(result.measured);
  CHECK_THAT(result.text, ContainsSubstring("40 of 41 messages delivered"));
  CHECK_THAT(result.text, ContainsSubstring("ec(32,8) at distance 2 km, gave up"));
}

TEST_CASE("what was not measured does not pass, and a failure stays one") {
  Results r = four_series();
  r.complete = false;
  r.series[3].samples.clear();
  ExpectationResult result = check(r, expectation(Metric::max_slowdown, 100));
  CHECK_FALSE(result.passed);
  CHECK_FALSE(result.measured);
  result = check(r, expectation(Metric::max_slowdown, 2));
  CHECK_FALSE(result.passed);
  CHECK(result.measured);

  const Results nothing = results({point()}, {selective_repeat()});
  result = check(nothing, expectation(Metric::mean_regret, 2));
  CHECK_FALSE(result.passed);
  CHECK_FALSE(result.measured);
}

TEST_CASE("a ratio without divisor does not pass") {
  Results r = results({point()}, {selective_repeat()});
  sim::MessageSample empty = sample(100);
  empty.payload_bytes = 0;
  add(r, 0, empty);
  CHECK_FALSE(check(r, expectation(Metric::wire_overhead, 2)).passed);
}

}  // namespace
}  // namespace longhaul
