#include "tools/longhaul/command_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <new>
#include <thread>

#include "core/base/error.h"
#include "tools/longhaul/commit.h"
#include "tools/longhaul/forecast.h"
#include "tools/longhaul/interrupt.h"
#include "tools/longhaul/output_file.h"
#include "tools/longhaul/progress.h"
#include "tools/longhaul/report_html.h"
#include "tools/longhaul/result_json.h"
#include "tools/longhaul/summary.h"
#include "tools/longhaul/table.h"
#include "tools/longhaul/text.h"
#include "tools/longhaul/units.h"

namespace longhaul {

namespace {

void print(std::FILE* stream, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stream);
}

/// Where people read: standard error when standard output is for JSON alone.
std::FILE* human(const RunCommand& command) { return command.json == "-" ? stderr : stdout; }

uint64_t available_memory() {
  const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return ~uint64_t{0};
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
}

unsigned choose_jobs(const RunCommand& command, const Scenario& scenario) {
  if (command.jobs > 0) return command.jobs;
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const unsigned jobs = jobs_that_fit(scenario, cores, available_memory());
  if (jobs < cores && !command.quiet) {
    print(stderr,
          fmt::format("note: {} of {} cores are used, because each sample holds {} in memory\n",
                      jobs, cores, format_bytes(bytes_per_job(scenario))));
  }
  return jobs;
}

int dry_run(const RunCommand& command, const Scenario& scenario, unsigned jobs,
            const SimulateFunction& simulate) {
  const Forecast plan = forecast(scenario, jobs, simulate);
  print(human(command),
        fmt::format(
            "{} ({}): nothing is written\n"
            "  points    {}\n"
            "  policies  {}\n"
            "  samples   {}\n"
            "  packets   {}, retransmissions and parity not counted\n"
            "  time      about {} with {} thread{}, estimated from {}\n"
            "  memory    about {}\n",
            scenario.name, scenario.file, format_count(plan.points), format_count(plan.policies),
            format_count(plan.samples), format_count(plan.packets),
            plan.seconds < 0.1 ? "0.1 s or less" : format_significant(plan.seconds, 2) + " s", jobs,
            jobs == 1 ? "" : "s", plan.basis, format_bytes(plan.memory_bytes)));
  return kExitPassed;
}

Results run_with_progress(const RunCommand& command, const Scenario& scenario, unsigned jobs,
                          const SimulateFunction& simulate) {
  Progress progress(stderr, !command.quiet);
  RunOptions options;
  options.jobs = jobs;
  options.stop = &interrupted();
  options.progress = [&](uint64_t finished, uint64_t wanted, double seconds) {
    progress.show(finished, wanted, seconds);
  };
  try {
    return run_scenario(scenario, options, simulate);
  } catch (const std::bad_alloc&) {
    throw SetupError(
        scenario.file, "out of memory",
        fmt::format("Run with fewer threads (--jobs, now {}), or smaller or virtual messages.",
                    jobs));
  }
}

void write_outputs(const RunCommand& command, const std::filesystem::path& folder,
                   const Results& results, const Summary& summary) {
  const auto json = [&](std::ostream& out) { write_result_json(out, results, summary); };
  write_file_atomically(folder / "result.json", json);
  write_file_atomically(folder / "report.html",
                        [&](std::ostream& out) { write_report_html(out, results, summary); });
  if (command.json == "-") {
    json(std::cout);
    std::cout.flush();
    if (!std::cout) {
      throw SetupError("standard output", "cannot write the JSON",
                       fmt::format("It is also in {}.", (folder / "result.json").string()));
    }
  } else if (!command.json.empty()) {
    write_file_atomically(command.json, json);
  }
}

int exit_code(const Results& results, const Summary& summary) {
  if (!results.complete) return kExitInterrupted;
  return summary.passed ? kExitPassed : kExitFailed;
}

}  // namespace

std::string default_output_folder(const std::string& scenario_name) {
  std::string name;
  for (const char c : scenario_name) {
    const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || (c == '.' && !name.empty());
    name += safe ? c : '-';
  }
  return "out/" + (name.empty() ? "unnamed" : name);
}

std::string repeat_command(const RunCommand& command) {
  std::string text = shell_quote(command.program) + " run " + shell_quote(command.scenario_file);
  for (const std::string& setting : command.overrides.settings)
    text += " --set " + shell_quote(setting);
  if (command.overrides.has_seed) text += fmt::format(" --seed {}", command.overrides.seed);
  if (!command.out.empty()) text += " --out " + shell_quote(command.out);
  return text;
}

int run_command(const RunCommand& command, const SimulateFunction& simulate) {
  const Scenario scenario = load_scenario(command.scenario_file, command.overrides);
  const unsigned jobs = choose_jobs(command, scenario);
  if (command.dry_run) return dry_run(command, scenario, jobs, simulate);
  const std::filesystem::path folder =
      command.out.empty() ? default_output_folder(scenario.name) : command.out;
  prepare_output_folder(folder);
  if (!command.json.empty() && command.json != "-") check_output_file(command.json);

  const InterruptGuard guard;
  Results results = run_with_progress(command, scenario, jobs, simulate);
  results.commit = build_commit();
  results.command = repeat_command(command);
  const Summary summary = summarize(results);
  write_outputs(command, folder, results, summary);
  if (command.quiet) {
    print(stderr, render_problems(results, summary));
  } else {
    print(human(command), render_table(results, summary));
    print(human(command),
          fmt::format("\n{} in {:.2f} s. Written: {}, {}{}\nRepeat: {}\n",
                      results.complete ? "Finished" : "Interrupted", results.wall_seconds,
                      (folder / "report.html").string(), (folder / "result.json").string(),
                      command.json.empty() || command.json == "-" ? "" : ", " + command.json,
                      results.command));
  }
  return exit_code(results, summary);
}

}  // namespace longhaul
