// The command line. Set-up errors are caught here, once.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "core/base/error.h"
#include "sim/experiment.h"
#include "tools/longhaul/command_replay.h"
#include "tools/longhaul/command_run.h"
#include "tools/longhaul/commit.h"

namespace {

using namespace longhaul;

constexpr unsigned kMostJobs = 4096;

void add_run(CLI::App& app, RunCommand& command) {
  CLI::App* run = app.add_subcommand(
      "run", "Run a scenario file on the built-in simulator and compare its policies");
  run->add_option("scenario", command.scenario_file,
                  "Scenario file; scenarios/README.md describes the format")
      ->required()
      ->type_name("SCENARIO.yaml");
  run->add_option("--out", command.out,
                  "Folder for report.html and result.json; default out/<scenario name>")
      ->type_name("DIR");
  run->add_option("--seed", command.overrides.seed,
                  "Replace the scenario's seeds by as many, counted from N")
      ->type_name("N");
  run->add_option("--set", command.overrides.settings,
                  "Change a setting, as --set path.loss.rate=1e-3; may be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  run->add_option(
         "--json", command.json,
         "Write result.json also to FILE; - is standard output, which then holds nothing else")
      ->type_name("FILE|-");
  run->add_option("--jobs", command.jobs,
                  "Threads; default one per core. Results do not depend on it")
      ->type_name("N")
      ->check(CLI::Range(1u, kMostJobs));
  run->add_flag("--quiet", command.quiet, "Print warnings, failed expectations and errors only");
  run->add_flag("--dry-run", command.dry_run,
                "Only say how much there is to run, and how long it will take");
  run->footer(
      "Examples:\n"
      "  longhaul run scenarios/quickstart.yaml\n"
      "  longhaul run scenarios/quickstart.yaml --set path.loss.rate=1e-3 --seed 7 --out "
      "out/lossy\n"
      "  longhaul run scenarios/quickstart.yaml --json - --quiet | python3 -m json.tool | less\n\n"
      "Exit code: 0 done; 1 an expectation of the scenario failed, or a message arrived corrupt;\n"
      "2 the scenario, a flag or an output folder is wrong, nothing was run; 130 interrupted by "
      "Ctrl-C,\n"
      "what was finished is written and marked as incomplete.");
}

void add_replay(CLI::App& app, ReplayCommand& command) {
  CLI::App* replay = app.add_subcommand(
      "replay", "Repeat a recording of a queue pair offline and compare what it does");
  replay->add_option("file", command.file, "Recording, as core/transfer/recording.h writes it")
      ->required()
      ->type_name("FILE");
  replay->add_flag("--verbose", command.verbose,
                   "Print every turn, with its events (<) and commands (>) in words");
  replay->footer(
      "Example:\n"
      "  longhaul replay failed.recording --verbose | less\n\n"
      "Exit code: 0 all commands are as recorded; 1 they differ, and the first difference is "
      "shown;\n"
      "2 the file is no recording, is cut short or damaged, or has another version.");
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* used = &app;
  for (const CLI::App* sub : app.get_subcommands()) used = sub;
  std::fprintf(stderr, "error: %s\n  See longhaul %s--help.\n", error.what(),
               used == &app ? "" : (used->get_name() + " ").c_str());
  return kExitSetup;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Longhaul: choose the reliability layer of RDMA between data centres", "longhaul");
  RunCommand command;
  command.program = argv[0];
  ReplayCommand replay;
  app.set_version_flag("--version",
                       fmt::format("longhaul {} (commit {})", LONGHAUL_VERSION, build_commit()));
  app.require_subcommand(1);
  app.footer(
      "Example:\n  longhaul run scenarios/quickstart.yaml\n\n\"longhaul run --help\" lists the "
      "options of a run.");
  add_run(app, command);
  add_replay(app, replay);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  command.overrides.has_seed = app.get_subcommand("run")->count("--seed") > 0;
  try {
    if (app.got_subcommand("replay")) return replay_command(replay);
    return run_command(command, sim::simulate_message);
  } catch (const SetupError& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return kExitSetup;
  }
}
