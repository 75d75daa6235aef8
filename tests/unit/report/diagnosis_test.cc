#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/catch.h"
#include "tests/unit/report/fixtures.h"
#include "tools/longhaul/report_html.h"
#include "tools/longhaul/result_json.h"
#include "tools/longhaul/table.h"

namespace longhaul {
namespace {

using namespace fixtures;

/// Two points, of which the second policy has trouble at both.
Results troubled() {
  Results r = results({point({{"path.distance", "1 km"}}), point({{"path.distance", "2 km"}})},
                      {selective_repeat(), erasure_code(4, 1)});
  // Ten packets are less than a chunk of 16, which would be noted.
  for (Point& p : r.scenario.points) p.chunk_packets = 4;
  for (size_t series = 0; series < 4; ++series) {
    sim::MessageSample s = sample(300);
    s.sender.data_packets = 10;
    if (series % 2 == 1) s.receiver.fallbacks = 1;
    if (series == 3) s.sender.checksum_mismatches = 1;
    add(r, series, s);
  }
  return r;
}

TEST_CASE("what counters mean stands in result.json, with the counters") {
  const Results r = troubled();
  std::ostringstream out;
  write_result_json(out, r, summarize(r));
  const auto diagnose = nlohmann::json::parse(out.str())["diagnose"];
  REQUIRE(diagnose.size() == 4);
  CHECK(diagnose[0]["policy"] == "sr(nack)");
  CHECK(diagnose[0]["findings"].empty());
  CHECK(diagnose[0]["sender"]["data_packets"] == 10);
  CHECK(diagnose[1]["findings"][0]["name"] == "code_too_weak");
  CHECK(diagnose[1]["findings"][0]["severity"] == "warning");
  CHECK(diagnose[1]["receiver"]["fallbacks"] == 1);
  CHECK(diagnose[3]["findings"][0]["name"] == "bitmap_out_of_step");  // the worst first
  CHECK(diagnose[3]["findings"].size() == 2);
  CHECK(diagnose[3]["sender"].size() == counter_fields().size());
}

TEST_CASE("table and report name each trouble once, with its places") {
  const Results r = troubled();
  const Summary summary = summarize(r);
  REQUIRE(summary.diagnosis.size() == 2);
  CHECK_THAT(summary.diagnosis[0], ContainsSubstring("code_too_weak (warning) at ec(4,1) at "));
  CHECK_THAT(summary.diagnosis[0], ContainsSubstring("1 km"));
  CHECK_THAT(summary.diagnosis[0], ContainsSubstring("2 km"));
  CHECK_THAT(render_table(r, summary), ContainsSubstring("\ndiagnosis\n  code_too_weak"));
  std::ostringstream html;
  write_report_html(html, r, summary);
  CHECK_THAT(html.str(), ContainsSubstring("<section id=\"diagnosis\">"));

  Results healthy = results({point()}, {selective_repeat()});
  add(healthy, 0, sample(300));
  CHECK(summarize(healthy).diagnosis.empty());
  CHECK_THAT(render_table(healthy, summarize(healthy)), !ContainsSubstring("diagnosis"));
}

}  // namespace
}  // namespace longhaul
