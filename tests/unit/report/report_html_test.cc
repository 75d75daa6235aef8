#include "tools/longhaul/report_html.h"

#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "tests/catch.h"
#include "tests/unit/report/fixtures.h"
#include "tools/longhaul/report_data.h"

namespace longhaul {
namespace {

using namespace fixtures;

std::string page_of(const Results& r) {
  std::ostringstream out;
  write_report_html(out, r, summarize(r));
  return out.str();
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_CASE("HTML and JSON are escaped") {
  CHECK(escape_html("<a href=\"x\">'&'</a>") ==
        "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  CHECK(escape_json_in_html(R"({"a":"</script><!--"})") == R"({"a":"\u003c/script>\u003c!--"})");
}

TEST_CASE("templates are filled once") {
  CHECK(fill_template("{{a}}-{{b}}-{{a}}", {{"a", "{{b}}"}, {"b", "2"}}) == "{{b}}-2-{{b}}");
  CHECK(fill_template("plain", {}) == "plain");
}

TEST_CASE("no text of the user becomes markup") {
  const std::string evil = "<script>alert('x')</script><!--\"&{{vega}}";
  Results r = results({point({{"a." + evil, evil}}), point({{"a." + evil, "other"}})},
                      {selective_repeat()});
  r.scenario.name = r.scenario.description = r.scenario.file = r.command = r.commit = evil;
  r.scenario.effective = {{evil, evil}};
  r.scenario.points[0].payload = sim::Payload::virtual_64;
  r.scenario.points[0].payload_note = evil;
  sim::MessageSample bad = failed_sample();
  bad.failure = evil;
  add(r, 0, bad);
  add(r, 1, sample(200));
  r.scenario.expectations = {expectation(Expectation::Metric::max_slowdown, 1)};
  r.scenario.expectations[0].text = r.scenario.expectations[0].where = evil;
  const std::string page = page_of(r);

  Results tame = r;
  const std::string plain = page_of(results({point()}, {selective_repeat()}));
  CHECK(count(page, "<script") == count(plain, "<script"));
  CHECK(count(page, "</script") == count(plain, "</script"));
  CHECK(count(page, "<!--") == 0);
  CHECK(count(page, "alert('x')") == count(page, "\\u003cscript>alert('x')"));
  CHECK(count(page, "&lt;script&gt;") >= 10);
}

TEST_CASE("the page needs nothing else and leaves no placeholder") {
  Results r = results({point()}, {selective_repeat(), erasure_code(32, 8)});
  add_ramp(r, 0, 20, 300, 5);
  add_ramp(r, 1, 20, 150, 1);
  const std::string page = page_of(r);
  CHECK(count(page, "<link rel=\"stylesheet\"") == 0);
  CHECK(count(page, " src=") == 0);
  CHECK(count(page, "sourceMappingURL") == 0);
  const std::string before_scripts = page.substr(0, page.find("<script"));
  CHECK(count(before_scripts, "{{") == 0);
  CHECK_THAT(before_scripts, ContainsSubstring("ec(32,8) finishes first"));
  CHECK_THAT(before_scripts, ContainsSubstring("2.34x"));
  CHECK_THAT(before_scripts, ContainsSubstring("longhaul run some/where.yaml"));
  CHECK_THAT(before_scripts, ContainsSubstring("0123456789ab"));
}

TEST_CASE("the data of the charts is valid JSON, also without samples") {
  Results r = results({point()}, {selective_repeat()});
  using nlohmann::json;
  CHECK(json::parse(report_data(r, summarize(r)))["points"][0]["series"].empty());
  add_ramp(r, 0, 4, 100, 100);
  const json data = json::parse(report_data(r, summarize(r)));
  CHECK(data["unit"] == "us");
  CHECK(data["points"][0]["series"][0]["times"] == json({100, 200, 300, 400}));
  CHECK(data["points"][0]["series"][0]["shares"] == json({1, 0.75, 0.5, 0.25}));
  CHECK(data["points"][0]["series"][0]["completion"]["p99"].is_null());
}

TEST_CASE("curves are thinned to samples, ends included") {
  std::vector<double> sorted(100'000);
  std::iota(sorted.begin(), sorted.end(), 1);
  const TailCurve curve = thin_tail_curve(sorted, 500);
  CHECK(curve.times_ps.size() <= 500);
  CHECK(curve.times_ps.size() > 250);
  CHECK(curve.times_ps.front() == 1);
  CHECK(curve.times_ps.back() == 100'000);
  CHECK(curve.shares.back() == Approx(1e-5));
  for (size_t i = 0; i < curve.times_ps.size(); ++i) {
    // The i-th smallest of n has n - i + 1 at or beyond it.
    REQUIRE(curve.shares[i] == Approx((100'001 - curve.times_ps[i]) / 100'000));
    if (i > 0) REQUIRE(curve.times_ps[i] > curve.times_ps[i - 1]);
  }
  CHECK(thin_tail_curve({}, 10).times_ps.empty());
  CHECK(thin_tail_curve({5}, 10).shares == std::vector<double>{1});
}

TEST_CASE("a large sweep stays small") {
  std::vector<Point> points;
  for (int i = 0; i < 150; ++i) points.push_back(point({{"message.size", std::to_string(i)}}));
  Results r = results(points, {selective_repeat(), erasure_code(32, 8)});
  for (size_t i = 0; i < r.series.size(); ++i) add_ramp(r, i, 1000, 12'345, 7);
  CHECK(page_of(r).size() < 3'000'000);
}

}  // namespace
}  // namespace longhaul
