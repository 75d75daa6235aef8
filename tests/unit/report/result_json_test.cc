#include "tools/longhaul/result_json.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/catch.h"
#include "tests/unit/report/fixtures.h"

namespace longhaul {
namespace {

using namespace fixtures;
using nlohmann::json;

std::string written(const Results& r) {
  std::ostringstream out;
  write_result_json(out, r, summarize(r));
  return out.str();
}

TEST_CASE("what goes in comes out") {
  Results r =
      results({point({{"path.distance", "1 km"}})}, {selective_repeat(), erasure_code(32, 8)});
  add_ramp(r, 0, 3, 300, 10);
  add(r, 1, failed_sample());
  r.scenario.expectations = {expectation(Expectation::Metric::max_slowdown, 3)};
  const json j = json::parse(written(r));
  CHECK(j["format"] == "longhaul-result");
  CHECK(j["version"] == 1);
  CHECK(j["complete"] == true);
  CHECK(j["passed"] == false);
  CHECK(j["commit"] == "0123456789ab");
  CHECK(j["command"] == "longhaul run some/where.yaml");
  CHECK(j["scenario"]["effective"]["path.rate"] == "400 Gb/s");
  CHECK(j["points"][0]["labels"]["path.distance"] == "1 km");
  CHECK(j["points"][0]["path"]["propagation_ps"] == 18'000'000'000);
  CHECK(j["points"][0]["path"]["loss"]["model"] == "bernoulli");
  CHECK(j["points"][0]["path"]["reverse_loss"]["model"] == "none");
  CHECK(j["points"][0]["message_packets"] == 10);
  CHECK(j["series"][0]["policy"] == "sr(nack)");
  CHECK(j["series"][0]["samples"]["completion_ps"] ==
        json({300'000'000, 310'000'000, 320'000'000}));
  CHECK(j["series"][0]["samples"]["message"] == json({0, 1, 2}));
  CHECK(j["series"][0]["samples"]["digest"][0] == "fedcba9876543210");
  CHECK(j["series"][0]["undelivered"].empty());
  CHECK(j["series"][1]["undelivered"][0]["failure"] == "gave up");
  CHECK(j["summary"][0]["completion_ps"]["p50"]["value"] == 310'000'000);
  CHECK(j["summary"][1]["failed"] == 1);
  CHECK(j["expectations"][0]["passed"] == false);
  CHECK(j["expectations"][0]["where"] == "some/where.yaml:7:3");
  CHECK(j["verdicts"][0]["leaders"] == json({"sr(nack)"}));
}

TEST_CASE("integers of 64 bits are exact") {
  Results r = results({point()}, {selective_repeat()});
  sim::MessageSample s = sample(1);
  s.completion = {(int64_t{1} << 62) + 1};
  s.wire_bytes = ~uint64_t{0};
  add(r, 0, s);
  r.series[0].seeds[0] = ~uint64_t{0} - 1;
  const json j = json::parse(written(r));
  const json& samples = j["series"][0]["samples"];
  CHECK(samples["completion_ps"][0].get<int64_t>() == (int64_t{1} << 62) + 1);
  CHECK(samples["wire_bytes"][0].get<uint64_t>() == ~uint64_t{0});
  CHECK(samples["seed"][0].get<uint64_t>() == ~uint64_t{0} - 1);
}

TEST_CASE("every column has one value a sample") {
  Results r = results({point()}, {selective_repeat()});
  add_ramp(r, 0, 5, 100, 1);
  const json j = json::parse(written(r));
  CHECK(j["series"][0]["samples"].size() == 20);
  for (const auto& [name, column] : j["series"][0]["samples"].items()) {
    CAPTURE(name);
    CHECK(column.size() == 5);
  }
}

TEST_CASE("nothing is NaN: messages of 0 bytes, no samples at all") {
  Results r = results({point()}, {selective_repeat(), erasure_code(32, 8)});
  r.scenario.points[0].message_bytes = 0;
  sim::MessageSample empty;
  empty.outcome = sim::Outcome::delivered;
  add(r, 0, empty);
  r.complete = false;
  r.wall_seconds = std::numeric_limits<double>::quiet_NaN();
  r.scenario.expectations = {expectation(Expectation::Metric::mean_regret, 3)};
  const std::string text = written(r);
  const json j = json::parse(text);
  CHECK(j["run"]["wall_seconds"].is_null());
  CHECK(j["summary"][0]["wire_per_payload"].is_null());
  CHECK(j["summary"][0]["regret"]["mean"]["value"].is_null());
  CHECK(j["summary"][1]["completion_ps"]["mean"]["value"].is_null());
  CHECK(j["series"][1]["samples"]["seed"].empty());
  CHECK(j["expectations"][0]["worst"].is_null());
  CHECK(text.find("nan") == std::string::npos);
  CHECK(text.find("inf") == std::string::npos);
}

TEST_CASE("bytes that are not UTF-8 cannot break the file") {
  Results r = results({point()}, {selective_repeat()});
  add(r, 0, sample(100));
  r.scenario.name = "caf\xe9 \"quoted\"\n";
  const json j = json::parse(written(r));
  CHECK(j["scenario"]["name"] == "caf\xef\xbf\xbd \"quoted\"\n");
}

TEST_CASE("all loss models are described") {
  Results r = results({point(), point(), point()}, {selective_repeat()});
  r.scenario.points[0].path.loss = {};
  r.scenario.points[1].path.loss.model = LossModel::gilbert_elliott;
  r.scenario.points[1].path.loss.good_to_bad = 0.25;
  r.scenario.points[2].path.loss.model = LossModel::scripted;
  r.scenario.points[2].path.loss.drop_data = {3, ~uint64_t{0}};
  const json j = json::parse(written(r));
  CHECK(j["points"][0]["path"]["loss"]["model"] == "none");
  CHECK(j["points"][1]["path"]["loss"]["good_to_bad"] == 0.25);
  CHECK(j["points"][2]["path"]["loss"]["drop_data"][1].get<uint64_t>() == ~uint64_t{0});
}

}  // namespace
}  // namespace longhaul
