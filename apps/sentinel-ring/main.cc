// sentinel-ring: a training job to watch. Replays recorded jobs through the profiler plugin, or
// trains live and lets go wrong what it is asked to.
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "manual/manual.h"
#include "ring/live/fault_request.h"
#include "ring/live/live_command.h"
#include "ring/live/rank.h"
#include "ring/rank_process.h"
#include "ring/replay_command.h"
#include "ring/report_file.h"

namespace {

constexpr const char* kAbout =
    "A training job to watch: one process per rank drives the profiler plugin through NCCL's own\n"
    "interface.\n\n"
    "--replay makes the calls of a recorded job, with the recorded order, threads and timing, and\n"
    "stops, dies or idles as the recorded one did; judges what it sees as agent and gateway "
    "would.\n"
    "--train does real collectives over TCP, verifies every result, and stalls as it is asked to.\n"
    "Its ranks are dealt to nodes, whose boards lie in node-<n> of the run folder.";

// What a parent passes to the rank processes it starts.
struct RankOptions {
  sentinel::RankProcessOptions replayed;
  sentinel::LiveRankOptions live;
  int ledger_fd = -1;
};

CLI::Option_group* AddReplay(CLI::App* app, sentinel::ReplayCommandOptions* replay,
                             int64_t* hold_ms) {
  CLI::Option_group* group = app->add_option_group("Replaying");
  group->add_option("--replay", replay->folder, "Folder of the recording");
  group->add_option("--speed", replay->speed, "Times the recorded speed")
      ->check(CLI::Range(0.01, 1000.0));
  group
      ->add_option("--hold-ms", *hold_ms,
                   "How long the ranks stay as they are once the ring has stopped (default 4000; "
                   "0: until standard input or the program is closed)")
      ->check(CLI::NonNegativeNumber);
  group->add_flag("!--no-judge", replay->judge, "Only replay; somebody else is watching");
  return group;
}

CLI::Option* AddTrain(CLI::App* app, bool* trains, sentinel::LiveCommandOptions* live) {
  CLI::Option_group* group = app->add_option_group("Training");
  CLI::Option* train = group->add_flag("--train", *trains, "Train live");
  group->add_option("--ranks", live->ranks, "Rank processes (default 8)");
  group->add_option("--nodes", live->nodes, "Nodes they are dealt to, in equal blocks (default 2)");
  group->add_option("--layout", live->layout,
                    "ring (default): one communicator; sendrecv: only its Send and Recv; mixed: "
                    "data, tensor and pipeline parallel");
  group->add_option("--transport", live->transport,
                    "socket (default): senders run ahead; ib: credits and acknowledgements");
  group->add_option("--compute-ms", live->compute_ms, "Asleep before each iteration (default 100)")
      ->check(CLI::Range(0, 60'000));
  group->add_option("--seed", live->seed, "Of data, communicators and chance (default: by chance)");
  group->add_option("--iterations", live->iterations, "End after so many");
  group->add_option("--seconds", live->seconds, "End after so long")->check(CLI::NonNegativeNumber);
  std::string kinds;
  for (const std::string& kind : sentinel::FaultKinds()) kinds += " " + kind;
  group->add_option("--fault", live->faults,
                    "KIND[,rank=R][,at=I][,after=MS][,for=S], more than once for several. Without "
                    "at= it waits for a line 'fault' on standard input; a line 'heal' ends what "
                    "can be ended. Kinds:" +
                        kinds);
  return train;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{kAbout, "sentinel-ring"};
  app.set_version_flag("--version", SENTINEL_VERSION);
  sentinel::ReplayCommandOptions replay;
  sentinel::LiveCommandOptions live;
  RankOptions rank;
  int64_t hold_ms = -1;
  bool trains = false;

  app.add_option("--json", replay.json_path,
                 "Write the report there, as JSON (-: standard output)");
  app.add_option("--events", replay.events_path,
                 "Write what happens there, as JSON lines while it happens (-: standard output)");
  app.add_option("--plugin", replay.plugin,
                 "Profiler plugin to load (default: the one built or installed with this program; "
                 "--train also takes none)");
  app.add_option("--abi", replay.abi_max,
                 "Speak at most this version of the profiler interface, as an older NCCL would")
      ->check(CLI::Range(sentinel::kProfilerAbiOldest, sentinel::kProfilerAbiNewest));
  app.add_option("--run-dir", replay.run_dir,
                 "Folder for the boards, node-<n> each (default: a fresh one under /dev/shm)");
  app.add_flag("--keep", replay.keep, "Leave the run folder behind");
  AddReplay(&app, &replay, &hold_ms);
  CLI::Option* train = AddTrain(&app, &trains, &live);

  auto* replayed_rank = app.add_option("--rank-process", rank.replayed.rank)->group("");
  app.add_option("--origin-ns", rank.replayed.origin_ns)->group("")->needs(replayed_rank);
  app.add_option("--exit-code", rank.replayed.exit_code)->group("")->needs(replayed_rank);
  app.add_option("--exit-ns", rank.replayed.exit_ns)->group("")->needs(replayed_rank);
  auto* live_rank = app.add_option("--live-rank", rank.live.rank)->group("");
  app.add_option("--plan", rank.live.plan)->group("")->needs(live_rank);
  app.add_option("--scratch", rank.live.scratch)->group("")->needs(live_rank);
  app.add_option("--ledger-fd", rank.ledger_fd)->group("");

  sentinel::ManualNotes notes;
  notes.section = 1;
  notes.purpose = "a training job to watch, recorded or live, that stalls as it is asked to";
  notes.exit_codes = {{0, "it was carried through"},
                      {1, "it was not"},
                      {sentinel::kExitUnusable, "the command line or the recording is unusable"}};
  sentinel::AddManual(&app, std::move(notes));

  try {
    app.parse(argc, argv);
    const bool for_a_parent = replayed_rank->count() + live_rank->count() > 0;
    const int jobs = (replay.folder.empty() ? 0 : 1) + (train->count() > 0 ? 1 : 0);
    if (!for_a_parent && jobs != 1) {
      throw CLI::RequiredError("one of --replay and --train");
    }
    if (replay.json_path == sentinel::kStandardOutput && replay.events_path == replay.json_path) {
      throw CLI::ValidationError("--json and --events", "one of them can be standard output");
    }
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    app.exit(wrong);
    return sentinel::kExitUnusable;
  }
  if (replayed_rank->count() > 0) {
    rank.replayed.ledger_fd = rank.ledger_fd;
    rank.replayed.recording = replay.folder;
    rank.replayed.plugin = replay.plugin;
    rank.replayed.abi_max = replay.abi_max;
    rank.replayed.speed = replay.speed;
    return sentinel::RunRankProcess(rank.replayed);
  }
  if (live_rank->count() > 0) {
    rank.live.ledger_fd = rank.ledger_fd;
    rank.live.plugin = replay.plugin == "none" ? "" : replay.plugin;
    rank.live.abi_max = replay.abi_max;
    return sentinel::RunLiveRank(rank.live);
  }
  if (train->count() > 0) {
    live.json_path = replay.json_path;
    live.events_path = replay.events_path;
    live.plugin = replay.plugin;
    live.abi_max = replay.abi_max;
    live.run_dir = replay.run_dir;
    live.keep = replay.keep;
    return sentinel::RunLiveCommand(live);
  }
  if (hold_ms >= 0) replay.hold_ms = hold_ms;
  return sentinel::RunReplayCommand(replay);
}
