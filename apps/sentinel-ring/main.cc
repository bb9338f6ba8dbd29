// sentinel-ring: a training job to watch. Replays recorded jobs through the profiler plugin.
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "ring/rank_process.h"
#include "ring/replay_command.h"

namespace {

constexpr const char* kAbout =
    "Replays a recorded NCCL job: one process per rank drives the profiler plugin through NCCL's\n"
    "own interface, with the recorded order, threads and timing, and stops, dies or idles as the\n"
    "recorded one did. Judges what it sees as agent and gateway would, and reports it.\n\n"
    "Exit code: 0 the replay and its judgement are complete, 1 it could not be carried through,\n"
    "2 the command line or the recording is unusable.";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{kAbout, "sentinel-ring"};
  app.set_version_flag("--version", SENTINEL_VERSION);
  sentinel::ReplayCommandOptions replay;
  sentinel::RankProcessOptions rank;
  int64_t hold_ms = -1;

  app.add_option("--replay", replay.folder, "Folder of the recording")->required();
  app.add_option("--json", replay.json_path, "Write the report there, as JSON");
  app.add_option("--events", replay.events_path,
                 "Write what happens there, as JSON lines while it happens (-: standard output)");
  app.add_option("--plugin", replay.plugin,
                 "Profiler plugin to load (default: the one built or installed with this program)");
  app.add_option("--abi", replay.abi_max,
                 "Speak at most this version of the profiler interface, as an older NCCL would")
      ->check(CLI::Range(sentinel::kProfilerAbiOldest, sentinel::kProfilerAbiNewest));
  app.add_option("--run-dir", replay.run_dir,
                 "Folder for the ranks' boards, node-<rank> each (default: a fresh one under "
                 "/dev/shm)");
  app.add_flag("--keep", replay.keep, "Leave the boards behind");
  app.add_option("--speed", replay.speed, "Times the recorded speed")
      ->check(CLI::Range(0.01, 1000.0));
  app.add_option("--hold-ms", hold_ms,
                 "How long the ranks stay as they are once the ring has stopped (default 4000; 0: "
                 "until standard input or the program is closed)")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("!--no-judge", replay.judge, "Only replay; somebody else is watching");

  // What a replay passes to the rank processes it starts.
  auto* rank_option = app.add_option("--rank-process", rank.rank)->group("");
  app.add_option("--ledger-fd", rank.ledger_fd)->group("")->needs(rank_option);
  app.add_option("--origin-ns", rank.origin_ns)->group("")->needs(rank_option);
  app.add_option("--exit-code", rank.exit_code)->group("")->needs(rank_option);
  app.add_option("--exit-ns", rank.exit_ns)->group("")->needs(rank_option);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    app.exit(wrong);
    return sentinel::kExitUnusable;
  }
  if (rank_option->count() > 0) {
    rank.recording = replay.folder;
    rank.plugin = replay.plugin;
    rank.abi_max = replay.abi_max;
    rank.speed = replay.speed;
    return sentinel::RunRankProcess(rank);
  }
  if (hold_ms >= 0) replay.hold_ms = hold_ms;
  return sentinel::RunReplayCommand(replay);
}
