/// The shipped scenarios, their schema and their reference agree with the reader.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/catch.h"
#include "tests/unit/scenario/scenario_file.h"
#include "tools/longhaul/scenario_keys.h"

namespace longhaul {
namespace {

const std::filesystem::path kLibrary = "scenarios";
/// First transmissions and some parity or repair, in packets for every core-second: what the
/// simulator is built to do, rounded down.
constexpr double kPacketsPerSecond = 2 * 20e6;

std::string read_all(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::filesystem::path> shipped() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kLibrary)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

double packets_of(const Scenario& scenario) {
  double packets = 0;
  for (const Point& point : scenario.points) {
    packets += 1 + static_cast<double>(point.message_bytes) / point.path.mtu_bytes;
  }
  return packets * 1.3 * static_cast<double>(scenario.policies.size() * scenario.seeds.size()) *
         static_cast<double>(scenario.messages_per_seed);
}

TEST_CASE("Every shipped scenario loads, says what it is, and is done in half a minute") {
  const auto files = shipped();
  CHECK(files.size() >= 12);
  for (const auto& file : files) {
    CAPTURE(file.string());
    const std::string text = read_all(file);
    CHECK(text.starts_with("# yaml-language-server: $schema=scenario.schema.json\n#\n# "));
    for (const char* part : {"\n# Models: ", "\n# Look for: ", "\n# Takes: "}) {
      CHECK_THAT(text, ContainsSubstring(part));
    }
    const Scenario scenario = load_scenario(file.string(), {});
    CHECK(scenario.name == file.stem().string());
    CHECK(!scenario.description.empty());
    CHECK(!scenario.expectations.empty());
    CHECK(packets_of(scenario) / kPacketsPerSecond < 30);
  }
}

TEST_CASE("The first scenario that people see takes a few seconds and has a p99.9") {
  const Scenario scenario = load_scenario("scenarios/quickstart.yaml", {});
  CHECK(packets_of(scenario) / kPacketsPerSecond < 5);
  CHECK(scenario.seeds.size() * scenario.messages_per_seed >= 1000);
  CHECK(scenario.policies.size() == 3);
}

std::vector<std::string> sorted_keys(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

TEST_CASE("The schema has the reader's keys, no more and no fewer") {
  const auto schema = nlohmann::json::parse(read_all(kLibrary / "scenario.schema.json"));
  const std::vector<std::pair<std::string, std::string>> places{
      {"", "/properties"},
      {"path", "/properties/path/properties"},
      {"path.loss", "/$defs/loss_model/properties"},
      {"message", "/properties/message/properties"},
      {"expect", "/$defs/expectation/properties"},
      {"expect.metric", "/$defs/condition/properties"}};
  CHECK(places.size() == scenario_sections().size());
  for (const auto& [section, pointer] : places) {
    CAPTURE(section);
    std::vector<std::string> keys(scenario_keys(section).begin(), scenario_keys(section).end());
    std::sort(keys.begin(), keys.end());
    const nlohmann::json::json_pointer place(pointer);
    CHECK(sorted_keys(schema.at(place)) == keys);
    CHECK(schema.at(place.parent_pointer()).at("additionalProperties") == false);
  }
}

TEST_CASE("Every reference within the schema exists") {
  const std::string text = read_all(kLibrary / "scenario.schema.json");
  const auto schema = nlohmann::json::parse(text);
  const std::string mark = "\"$ref\": \"#";
  size_t count = 0;
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const size_t begin = at + mark.size();
    const std::string pointer = text.substr(begin, text.find('"', begin) - begin);
    CAPTURE(pointer);
    CHECK(schema.contains(nlohmann::json::json_pointer(pointer)));
    ++count;
  }
  CHECK(count > 20);
}

TEST_CASE("The reference describes every key and every scenario") {
  const std::string text = read_all(kLibrary / "README.md");
  for (const ScenarioSection& section : scenario_sections()) {
    for (const std::string_view key : section.keys) {
      CAPTURE(section.name, key);
      CHECK_THAT(text, ContainsSubstring(std::string("| `").append(key).append("` |")));
    }
  }
  for (const auto& file : shipped()) {
    CHECK_THAT(text,
               ContainsSubstring(std::string("(").append(file.filename().string()).append(")")));
  }
}

/// The first block of ```yaml below a heading.
std::string example_below(const std::string& text, const std::string& heading) {
  const size_t start = text.find(heading);
  REQUIRE(start != std::string::npos);
  const std::string fence = "```yaml\n";
  const size_t begin = text.find(fence, start) + fence.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

TEST_CASE("The reference's whole example loads") {
  const Scenario scenario =
      load_text(example_below(read_all(kLibrary / "README.md"), "## A whole scenario"));
  CHECK(scenario.points.size() == 4);
  CHECK(scenario.policies.size() == 3);
}

}  // namespace
}  // namespace longhaul
