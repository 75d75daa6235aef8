#include "tools/longhaul/summary.h"

#include "tests/catch.h"
#include "tests/unit/report/fixtures.h"

namespace longhaul {
namespace {

using namespace fixtures;

TEST_CASE("ratios are taken per sample before any percentile") {
  Results r = results({point()}, {selective_repeat()});
  sim::MessageSample slow = sample(400);
  slow.ideal = Duration::microseconds(400);  // slowdown 1, the longest time
  sim::MessageSample fast = sample(300);
  fast.ideal = Duration::microseconds(100);  // slowdown 3
  add(r, 0, slow);
  add(r, 0, fast);
  const SeriesSummary s = summarize(r).series.front();
  CHECK(s.completion_ps.max.value == 400e6);
  CHECK(s.slowdown.max.value == 3.0);
  CHECK(*s.slowdown.mean.value == Approx(2));
  CHECK(s.regret.max.value == 2.0);
  CHECK(s.regret.p50.value == 1.5);
}

TEST_CASE("shares and ratios are of totals") {
  Results r = results({point()}, {selective_repeat()});
  add(r, 0, sample(200));
  sim::MessageSample more = sample(200);
  more.retransmitted_packets = 5;
  more.parity_packets = 4;
  add(r, 0, more);
  const SeriesSummary s = summarize(r).series.front();
  CHECK(*s.wire_per_payload() == Approx(1.1));
  CHECK(*s.wire_per_oracle() == Approx(90'112.0 / 84'000));
  CHECK(*s.retransmitted_share() == Approx(6.0 / 30));
  CHECK(*s.parity_share() == Approx(4.0 / 30));
  CHECK(s.lost_packets == 2);
}

TEST_CASE("messages of 0 bytes and an oracle of 0 have no ratio") {
  Results r = results({point()}, {selective_repeat()});
  sim::MessageSample empty;
  empty.outcome = sim::Outcome::delivered;
  empty.completion = Duration::microseconds(10);
  add(r, 0, empty);
  const SeriesSummary s = summarize(r).series.front();
  CHECK(s.completion_ps.count == 1);
  CHECK(s.slowdown.count == 0);
  CHECK_FALSE(s.regret.mean.value);
  CHECK_FALSE(s.wire_per_payload());
  CHECK_FALSE(s.wire_per_oracle());
  CHECK_FALSE(s.retransmitted_share());
}

TEST_CASE("failed samples are counted, warned of, and kept out of the times") {
  Results r = results({point()}, {selective_repeat()});
  add(r, 0, sample(300));
  add(r, 0, failed_sample());
  const Summary summary = summarize(r);
  const SeriesSummary& s = summary.series.front();
  CHECK(s.samples == 2);
  CHECK(s.delivered == 1);
  CHECK(s.failed == 1);
  CHECK(s.completion_ps.count == 1);
  CHECK(s.wire_bytes == 2 * 45'056);
  REQUIRE(summary.warnings.size() == 1);
  CHECK_THAT(summary.warnings[0], ContainsSubstring("sr(nack) (1 of 2)"));
  CHECK_THAT(summary.warnings[0], ContainsSubstring("gave up"));
  CHECK(summary.passed);
}

TEST_CASE("a corrupt message fails the run without any expectation") {
  Results r = results({point()}, {selective_repeat()});
  sim::MessageSample corrupt = sample(300);
  corrupt.outcome = sim::Outcome::corrupt;
  add(r, 0, corrupt);
  const Summary summary = summarize(r);
  CHECK_FALSE(summary.passed);
  REQUIRE_FALSE(summary.warnings.empty());
  CHECK_THAT(summary.warnings[0], ContainsSubstring("CORRUPT"));
}

TEST_CASE("loss that was asked for and not seen is a warning") {
  Results r = results({point({{"path.distance", "1 km"}}), point({{"path.distance", "2 km"}})},
                      {selective_repeat()});
  sim::MessageSample lossless = sample(100);
  lossless.lost_packets = 0;
  add(r, 0, lossless);
  add(r, 1, sample(200));
  Summary summary = summarize(r);
  REQUIRE(summary.warnings.size() == 1);
  CHECK_THAT(summary.warnings[0], ContainsSubstring("not one packet was lost at distance 1 km:"));

  r.scenario.points[0].path.loss = {};
  CHECK(summarize(r).warnings.empty());
}

TEST_CASE("p99.9 is used from 1,000 samples on, the maximum below") {
  Results r = results({point()}, {selective_repeat()});
  add_ramp(r, 0, 999, 1000, 1);
  CHECK(summarize(r).tail == Tail::max);
  add(r, 0, sample(5000));
  const Summary summary = summarize(r);
  CHECK(summary.tail == Tail::p999);
  CHECK(tail_of(summary.series[0].completion_ps, summary.tail).value == 1998e6);
}

TEST_CASE("the winner is first at the tail, and by how much") {
  Results r = results({point()}, {selective_repeat(), erasure_code(32, 8), erasure_code(4, 1)});
  add_ramp(r, 0, 20, 400, 1);  // max 419
  add_ramp(r, 1, 20, 150, 0);
  add_ramp(r, 2, 20, 300, 0);
  const Summary summary = summarize(r);
  const Verdict& verdict = summary.verdicts.front();
  CHECK(verdict.leaders == std::vector<size_t>{1});
  CHECK(verdict.runner_up == size_t{2});
  CHECK(verdict.slowest == size_t{0});
  CHECK(*verdict.lead == Approx(2));
  CHECK(*verdict.lead_on_slowest == Approx(419.0 / 150));
  CHECK_FALSE(verdict.level());
  CHECK(verdict.text ==
        "ec(32,8) finishes first at the maximum: 1.50x ideal, 0.750x the oracle, 1.10x the payload "
        "on the wire; "
        "2.00x faster than ec(4,1), 2.79x faster than sr(nack)");
  CHECK(summary.headline == verdict.text);
}

TEST_CASE("a lead below 1 % is no win") {
  Results r = results({point()}, {selective_repeat(), erasure_code(32, 8)});
  add_ramp(r, 0, 10, 1005, 0);
  add_ramp(r, 1, 10, 1000, 0);
  const Verdict verdict = summarize(r).verdicts.front();
  CHECK(verdict.level());
  CHECK(verdict.leaders == std::vector<size_t>{1, 0});
  CHECK_THAT(verdict.text, ContainsSubstring("ec(32,8) and sr(nack) are level at the maximum"));
}

TEST_CASE("the text says so when average and tail disagree") {
  Results r = results({point()}, {selective_repeat(), erasure_code(32, 8)});
  add_ramp(r, 0, 10, 400, 0);
  add_ramp(r, 1, 9, 100, 0);
  add(r, 1, sample(600));
  const Verdict verdict = summarize(r).verdicts.front();
  CHECK(verdict.leaders == std::vector<size_t>{0});
  CHECK(verdict.first_on_average == size_t{1});
  CHECK_THAT(verdict.text, ContainsSubstring("; on average ec(32,8) is first, 2.67x faster"));

  Results agree = results({point()}, {selective_repeat(), erasure_code(32, 8)});
  add_ramp(agree, 0, 10, 400, 0);
  add_ramp(agree, 1, 10, 300, 0);
  CHECK_FALSE(summarize(agree).verdicts.front().first_on_average);
}

TEST_CASE("two may win together, and the cheaper one is named") {
  Results r = results({point()}, {selective_repeat(), erasure_code(32, 8), erasure_code(4, 1)});
  add_ramp(r, 0, 10, 3000, 0);
  add_ramp(r, 1, 10, 1000, 0);
  for (int i = 0; i < 10; ++i) {
    sim::MessageSample cheap = sample(1005);
    cheap.wire_bytes = 43'008;
    add(r, 2, cheap);
  }
  const Verdict verdict = summarize(r).verdicts.front();
  CHECK_FALSE(verdict.level());
  CHECK(verdict.leaders == std::vector<size_t>{1, 2});
  CHECK(verdict.runner_up == size_t{0});
  CHECK(verdict.text ==
        "ec(32,8) and ec(4,1) finish first at the maximum, less than 1 % apart: 10.0x ideal, 5.00x "
        "the oracle, "
        "1.10x the payload on the wire; 3.00x faster than sr(nack); of these ec(4,1) sends the "
        "least, 1.050x the "
        "payload");
}

TEST_CASE("a policy that loses messages cannot win by the rest") {
  Results r = results({point()}, {selective_repeat(), erasure_code(32, 8)});
  add_ramp(r, 0, 10, 900, 0);
  add_ramp(r, 1, 9, 100, 0);
  add(r, 1, failed_sample());
  const Verdict verdict = summarize(r).verdicts.front();
  CHECK(verdict.leaders == std::vector<size_t>{0});
  CHECK_FALSE(verdict.lead);
  CHECK_THAT(verdict.text, ContainsSubstring("ec(32,8) did not deliver every message"));
}

TEST_CASE("overlapping intervals are said to be") {
  Results r = results({point()}, {selective_repeat(), erasure_code(32, 8)});
  // Ten samples of a thousand lie far out, a hundred microseconds apart: p99.9 is 1850 against
  // 1800.
  add_ramp(r, 0, 990, 1000, 0);
  add_ramp(r, 0, 10, 1050, 100);
  add_ramp(r, 1, 990, 1000, 0);
  add_ramp(r, 1, 10, 1000, 100);
  const Verdict verdict = summarize(r).verdicts.front();
  CHECK(verdict.leaders == std::vector<size_t>{1});
  CHECK(verdict.uncertain);

  Results clear = results({point()}, {selective_repeat(), erasure_code(32, 8)});
  add_ramp(clear, 0, 1000, 4000, 1);
  add_ramp(clear, 1, 1000, 970, 1);
  CHECK_FALSE(summarize(clear).verdicts.front().uncertain);
}

TEST_CASE("the headline of one swept setting names the stretches") {
  std::vector<Point> points;
  for (const char* size : {"1 MiB", "2 MiB", "4 MiB", "8 MiB"})
    points.push_back(point({{"message.size", size}}));
  Results r = results(points, {selective_repeat(), erasure_code(32, 8)});
  const int64_t times[4][2] = {{500, 500}, {900, 300}, {800, 400}, {300, 600}};
  for (size_t i = 0; i < 4; ++i) {
    add(r, 2 * i, sample(times[i][0]));
    add(r, 2 * i + 1, sample(times[i][1]));
  }
  CHECK(summarize(r).headline ==
        "at the maximum ec(32,8) finishes first for size 2 MiB to 4 MiB, sr(nack) for 8 MiB; level "
        "for 1 MiB. "
        "Widest lead: ec(32,8) 3.00x faster than sr(nack), at size 2 MiB");
  // Words have no order that "to" could stand for.
  r.scenario.points[0].labels[0].second = "none";
  CHECK_THAT(
      summarize(r).headline,
      ContainsSubstring(
          "ec(32,8) finishes first at the maximum at 2 of 4 points, sr(nack) at 1; level at 1."));
}

TEST_CASE("without a single delivered message nothing breaks") {
  Results r = results({point()}, {selective_repeat(), erasure_code(32, 8)});
  add(r, 0, failed_sample());
  add(r, 1, failed_sample());
  const Summary summary = summarize(r);
  CHECK(summary.verdicts.front().leaders.empty());
  CHECK(summary.headline == "no message was delivered");
}

TEST_CASE("an interruption is said, and unfinished series stay empty") {
  Results r = results({point()}, {selective_repeat(), erasure_code(32, 8)});
  add(r, 0, sample(300));
  r.complete = false;
  r.samples_wanted = 8;
  const Summary summary = summarize(r);
  REQUIRE_FALSE(summary.warnings.empty());
  CHECK_THAT(summary.warnings[0], ContainsSubstring("interrupted: 1 of 8 samples"));
  CHECK(summary.series[1].samples == 0);
}

}  // namespace
}  // namespace longhaul
