#include "tools/longhaul/table.h"

#include <sstream>

#include "tests/catch.h"
#include "tests/unit/report/fixtures.h"
#include "tools/longhaul/text.h"

namespace longhaul {
namespace {

using namespace fixtures;

size_t widest_line(const std::string& text) {
  std::istringstream in(text);
  size_t widest = 0;
  for (std::string line; std::getline(in, line);) widest = std::max(widest, line.size());
  return widest;
}

Results three_policies(int samples) {
  PolicySpec rto = selective_repeat();
  rto.detection = PolicySpec::Detection::rto;
  Results r = results({point()}, {rto, selective_repeat(), erasure_code(32, 8)});
  add_ramp(r, 0, samples, 123'456, 17);
  add_ramp(r, 1, samples, 65'432, 13);
  add_ramp(r, 2, samples, 45'678, 11);
  return r;
}

TEST_CASE("the table says what was asked and who wins, in 120 columns") {
  Results r = three_policies(4000);
  r.scenario.expectations = {expectation(Expectation::Metric::p999_slowdown, 5, "ec(32,8)"),
                             expectation(Expectation::Metric::delivered_all, 1)};
  const std::string text = render_table(r, summarize(r));
  CHECK(widest_line(text) <= 120);
  for (const char* part :
       {"by hand (some/where.yaml)", "400 Gb/s, RTT 36 ms, bandwidth-delay product 1.676 GiB",
        "MTU 4 KiB", "independent, 0.001 of packets", "40 KiB (10 packets)",
        "4,000 samples of every policy", "p99.9", "> ec(32,8)", "  sr(nack)",
        "=> ec(32,8) finishes first at p99.9", "PASS", "FAIL", "[some/where.yaml:7:3]"}) {
    CHECK_THAT(text, ContainsSubstring(part));
  }
}

TEST_CASE("few samples: the maximum in place of p99.9, no p99, and the table says so") {
  const Results r = three_policies(20);
  const std::string text = render_table(r, summarize(r));
  CHECK_THAT(text, ContainsSubstring("max stands for p99.9 below 1,000 samples"));
  CHECK_THAT(text, ContainsSubstring("p99 is left out below 100 samples"));
  CHECK_THAT(text, ContainsSubstring("at max"));
}

TEST_CASE("one line, every number worked out by hand") {
  Results r = results({point()}, {selective_repeat()});
  add_ramp(r, 0, 2, 300, 100);
  const std::string text = render_table(r, summarize(r));
  // Mean 350, t(1) = 12.7062, s / sqrt(2) = 50: 350 +- 635.3.
  CHECK_THAT(text, ContainsSubstring(
                       "sr(nack)      350.0 (-285.3..985.3)  300.0    -  400.0     3.500   4.000"));
  CHECK_THAT(text, ContainsSubstring("1.750   2.000         1.100        1.073   9.1 %     0 %     "
                                     "     2        0            0"));
}

TEST_CASE("points of a sweep are headed by their labels") {
  Results r = results({point({{"path.distance", "350 km"}}), point({{"path.distance", "3750 km"}})},
                      {selective_repeat(), erasure_code(32, 8)});
  for (size_t i = 0; i < 4; ++i) add_ramp(r, i, 10, 200 + 100 * static_cast<int64_t>(i % 2), 0);
  const std::string text = render_table(r, summarize(r));
  CHECK_THAT(text, ContainsSubstring("\ndistance 350 km\n"));
  CHECK_THAT(text, ContainsSubstring("\ndistance 3750 km\n"));
  CHECK_THAT(text, ContainsSubstring(
                       "Over all points: sr(nack) finishes first at the maximum at all 2 points"));
}

TEST_CASE("undelivered messages stand out") {
  Results r = results({point()}, {selective_repeat()});
  add(r, 0, failed_sample());
  std::string text = render_table(r, summarize(r));
  CHECK_THAT(text, ContainsSubstring("no message was delivered"));
  add_ramp(r, 0, 3, 300, 0);
  text = render_table(r, summarize(r));
  CHECK_THAT(text, ContainsSubstring("1 of 4"));
  CHECK_THAT(text, ContainsSubstring("warning: not delivered: sr(nack) (1 of 4)"));
}

TEST_CASE("quiet output holds problems only") {
  Results r = three_policies(20);
  CHECK(render_problems(r, summarize(r)).empty());
  r.scenario.expectations = {expectation(Expectation::Metric::mean_slowdown, 1),
                             expectation(Expectation::Metric::mean_slowdown, 1e9)};
  const std::string text = render_problems(r, summarize(r));
  CHECK_THAT(text, ContainsSubstring("FAIL"));
  CHECK(text.find("PASS") == std::string::npos);
}

TEST_CASE("numbers and words") {
  CHECK(format_significant(0.0123456) == "0.01235");
  CHECK(format_significant(39.614) == "39.61");
  CHECK(format_significant(123456) == "123456");
  CHECK(format_significant(9.9999) == "10.00");
  CHECK(format_significant(1.2e-7, 2) == "1.2e-07");
  CHECK(format_factor(2.938) == "2.94x");
  CHECK(format_factor(12.34) == "12.3x");
  CHECK(format_factor(1.0034) == "1.003x");
  CHECK(format_percent(0.2) == "20.0 %");
  CHECK(format_percent(std::nullopt) == "-");
  CHECK(join_words({"a"}) == "a");
  CHECK(join_words({"a", "b", "c"}) == "a, b and c");
  CHECK(join_some({"a", "b", "c", "d", "e"}, 2) == "a, b and 3 more");
  CHECK(short_key("path.loss.rate") == "loss.rate");
  CHECK(shell_quote("a/b.yaml") == "a/b.yaml");
  CHECK(shell_quote("path.loss={rate: 1}") == "'path.loss={rate: 1}'");
  CHECK(shell_quote("it's") == "'it'\\''s'");
  CHECK(std::string(time_unit_for(39e9).name) == "ms");
}

}  // namespace
}  // namespace longhaul
