#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "core/base/error.h"
#include "tests/catch.h"
#include "tests/unit/report/fixtures.h"
#include "tools/longhaul/command_run.h"
#include "tools/longhaul/commit.h"
#include "tools/longhaul/forecast.h"
#include "tools/longhaul/interrupt.h"
#include "tools/longhaul/output_file.h"
#include "tools/longhaul/progress.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using namespace fixtures;

/// A folder that goes when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "longhaul-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string content(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

constexpr const char* kScenario =
    "name: tiny\n"
    "path: {distance: 100 km, rate: 100 Gb/s}\n"
    "message: {size: 1 MiB}\n"
    "policies: [sr(nack), 'ec(4,1)']\n"
    "seeds: 1..20\n";

RunCommand command_in(const TemporaryFolder& folder, const std::string& more = {}) {
  std::ofstream(folder.path() / "tiny.yaml") << kScenario << more;
  RunCommand command;
  command.scenario_file = (folder.path() / "tiny.yaml").string();
  command.out = (folder.path() / "out").string();
  command.quiet = true;
  command.jobs = 2;
  return command;
}

sim::MessageSample fake(const sim::PathSpec&, const sim::MessageSpec&, uint64_t seed, uint64_t) {
  return sample(200 + static_cast<int64_t>(seed));
}

nlohmann::json result_of(const RunCommand& command) {
  return nlohmann::json::parse(content(fs::path(command.out) / "result.json"));
}

TEST_CASE("a run writes its files and returns 0") {
  const TemporaryFolder folder;
  RunCommand command = command_in(folder);
  command.json = (folder.path() / "copy.json").string();
  CHECK(run_command(command, fake) == kExitPassed);
  const nlohmann::json result = result_of(command);
  CHECK(result["complete"] == true);
  CHECK(result["series"].size() == 2);
  CHECK(result["series"][0]["samples"]["seed"].size() == 20);
  CHECK(result["commit"] == build_commit());
  CHECK(content(command.json) == content(fs::path(command.out) / "result.json"));
  CHECK_THAT(content(fs::path(command.out) / "report.html"), ContainsSubstring("<!DOCTYPE html>"));
  // Nothing temporary stays behind.
  CHECK(std::distance(fs::directory_iterator(command.out), {}) == 2);
}

TEST_CASE("a failed expectation returns 1") {
  const TemporaryFolder folder;
  const RunCommand command = command_in(folder, "expect: [max_slowdown: {below: 1.5}]\n");
  CHECK(run_command(command, fake) == kExitFailed);
  CHECK(result_of(command)["passed"] == false);
}

TEST_CASE("a corrupt message returns 1") {
  const TemporaryFolder folder;
  const RunCommand command = command_in(folder);
  CHECK(run_command(command,
                    [](const auto& path, const auto& message, uint64_t seed, uint64_t index) {
                      sim::MessageSample s = fake(path, message, seed, index);
                      if (seed == 7) s.outcome = sim::Outcome::corrupt;
                      return s;
                    }) == kExitFailed);
}

TEST_CASE("Ctrl-C writes what is finished and returns 130") {
  const TemporaryFolder folder;
  RunCommand command = command_in(folder);
  command.jobs = 1;
  std::atomic<int> calls{0};
  CHECK(run_command(command,
                    [&](const auto& path, const auto& message, uint64_t seed, uint64_t index) {
                      if (++calls == 9) raise(SIGINT);
                      return fake(path, message, seed, index);
                    }) == kExitInterrupted);
  const nlohmann::json result = result_of(command);
  CHECK(result["complete"] == false);
  CHECK(result["run"]["samples_finished"] == 9);
  CHECK(result["run"]["samples_wanted"] == 40);
  CHECK_THAT(content(fs::path(command.out) / "report.html"),
             ContainsSubstring("interrupted: 9 of 40"));
}

TEST_CASE("a second Ctrl-C ends the process at once") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const InterruptGuard guard;
    raise(SIGINT);
    if (!interrupted()) _exit(1);
    raise(SIGINT);
    _exit(2);  // not reached
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
}

TEST_CASE("errors of set-up come before any sample is run") {
  const TemporaryFolder folder;
  const auto never = [](const auto&, const auto&, uint64_t, uint64_t) -> sim::MessageSample {
    FAIL("a sample was run");
    return {};
  };
  RunCommand command = command_in(folder);
  std::ofstream(folder.path() / "file") << "x";

  RunCommand missing = command;
  missing.scenario_file = (folder.path() / "none.yaml").string();
  CHECK_THROWS_AS(run_command(missing, never), SetupError);

  RunCommand blocked = command;
  blocked.out = (folder.path() / "file" / "below").string();
  CHECK_THROWS_AS(run_command(blocked, never), SetupError);

  RunCommand no_folder = command;
  no_folder.json = (folder.path() / "nowhere" / "x.json").string();
  CHECK_THROWS_AS(run_command(no_folder, never), SetupError);

  RunCommand is_folder = command;
  is_folder.json = folder.path().string();
  CHECK_THROWS_AS(run_command(is_folder, never), SetupError);
}

TEST_CASE("out of memory is an error that names the way out") {
  const TemporaryFolder folder;
  const RunCommand command = command_in(folder);
  try {
    run_command(command, [](const auto&, const auto&, uint64_t, uint64_t) -> sim::MessageSample {
      throw std::bad_alloc();
    });
    FAIL("no error");
  } catch (const SetupError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("--jobs"));
  }
}

TEST_CASE("a dry run writes nothing") {
  const TemporaryFolder folder;
  RunCommand command = command_in(folder);
  command.dry_run = true;
  command.json = "-";  // moves the text to standard error
  CHECK(run_command(command, fake) == kExitPassed);
  CHECK_FALSE(fs::exists(command.out));
}

TEST_CASE("the command that repeats a run") {
  RunCommand command;
  command.program = "build/release/longhaul";
  command.scenario_file = "my file.yaml";
  command.overrides.settings = {"path.loss={model: none}", "seeds=3"};
  command.overrides.has_seed = true;
  command.overrides.seed = 9;
  command.out = "out/x";
  command.jobs = 4;
  command.quiet = true;
  CHECK(repeat_command(command) ==
        "build/release/longhaul run 'my file.yaml' --set 'path.loss={model: none}' --set seeds=3 "
        "--seed 9 --out out/x");
}

TEST_CASE("default folders stay below out/") {
  CHECK(default_output_folder("quickstart") == "out/quickstart");
  CHECK(default_output_folder("../../etc/passwd") == "out/-.-..-etc-passwd");
  CHECK(default_output_folder("..") == "out/-.");
  CHECK(default_output_folder("") == "out/unnamed");
}

TEST_CASE("files are replaced whole or not at all") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "f";
  write_file_atomically(file, [](std::ostream& out) { out << "old"; });
  CHECK(content(file) == "old");
  CHECK_THROWS_AS(write_file_atomically(file,
                                        [](std::ostream& out) {
                                          out << "half of the new";
                                          out.setstate(std::ios::badbit);
                                        }),
                  SetupError);
  CHECK(content(file) == "old");
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
  CHECK_THROWS_AS(write_file_atomically("/dev/full/x", [](std::ostream&) {}), SetupError);
}

TEST_CASE("progress is drawn on terminals only") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  {
    Progress progress(file, true);
    progress.show(1, 2, 1);
  }
  CHECK(std::ftell(file) == 0);
  std::fclose(file);
  CHECK(progress_line(1500, 3000, 6) ==
        "[###############---------------]  50 %  1500 of 3000 samples, 250 samples/s, about 6 s "
        "left");
  CHECK(progress_line(0, 10, 1) == "[------------------------------]   0 %  0 of 10 samples");
  CHECK_THAT(progress_line(1, 3601, 1), ContainsSubstring("about 1 h 00 min left"));
}

TEST_CASE("a forecast counts what there is to run") {
  Scenario scenario;
  scenario.points = {point(), point({{"message.size", "8 KiB"}})};
  scenario.points[1].message_bytes = 8192;
  scenario.points[1].payload = sim::Payload::virtual_64;
  scenario.policies = {selective_repeat(), erasure_code(4, 1)};
  scenario.seeds = {1, 2, 3};
  scenario.messages_per_seed = 5;
  std::atomic<int> calls{0};
  const Forecast plan = forecast(
      scenario, 2, [&](const auto& path, const auto& message, uint64_t seed, uint64_t index) {
        ++calls;
        return fake(path, message, seed, index);
      });
  CHECK(plan.samples == 2 * 2 * 15);
  CHECK(plan.packets == (10 + 2) * 2 * 15);
  CHECK(calls == 60);  // 15 at most, of both policies and both kinds of payload
  CHECK(plan.seconds >= 0);
  CHECK(plan.memory_bytes > 2 * bytes_per_job(scenario));
}

TEST_CASE("threads are limited by memory, not below one") {
  Scenario scenario;
  scenario.points = {point()};
  scenario.points[0].message_bytes = 1u << 20;
  scenario.policies = {erasure_code(4, 1)};
  const uint64_t each = bytes_per_job(scenario);
  CHECK(each >= 2u << 20);
  CHECK(jobs_that_fit(scenario, 8, 100 * each) == 8);
  CHECK(jobs_that_fit(scenario, 8, 3 * each) == 3);
  CHECK(jobs_that_fit(scenario, 8, 0) == 1);
}

}  // namespace
}  // namespace longhaul
