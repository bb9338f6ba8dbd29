#include "ring/replay_command.h"

#include <cstdio>
#include <utility>

#include "ring/plugin_path.h"
#include "ring/recording_reader.h"
#include "ring/replay.h"

namespace sentinel {
namespace {

int Complain(int exit_code, const Error& error) {
  std::fprintf(stderr, "sentinel-ring: %s\n", error.message.c_str());
  return exit_code;
}

ReplayOptions OptionsOf(const ReplayCommandOptions& command, const std::string& plugin) {
  ReplayOptions options;
  options.folder = command.folder;
  options.plugin = plugin;
  options.abi_max = command.abi_max;
  options.speed = command.speed;
  if (command.hold_ms == 0) {
    options.hold.reset();
  } else if (command.hold_ms) {
    options.hold = std::chrono::milliseconds(*command.hold_ms);
  }
  return options;
}

}  // namespace

int RunReplayCommand(const ReplayCommandOptions& options) {
  const Result<Recording> recording = ReadRecording(options.folder);
  if (!recording.ok()) return Complain(kExitUnusable, recording.error());
  for (const RankRecording& rank : recording->ranks) {
    for (const std::string& remark : rank.remarks) {
      std::fprintf(stderr, "sentinel-ring: rank %d: %s\n", rank.rank, remark.c_str());
    }
  }
  const Result<std::string> plugin = FindPlugin(options.plugin);
  if (!plugin.ok()) return Complain(kExitUnusable, plugin.error());
  Result<EventLog> events = EventLog::Open(options.events_path);
  if (!events.ok()) return Complain(kExitUnusable, events.error());
  Result<RunDir> run_dir =
      RunDir::Create(options.run_dir, static_cast<int>(recording->ranks.size()));
  if (!run_dir.ok()) return Complain(kExitFailed, run_dir.error());
  if (options.keep) run_dir->Keep();

  Result<Replay> replay =
      Replay::Prepare(*recording, OptionsOf(options, *plugin), *run_dir, *events);
  if (!replay.ok()) return Complain(kExitFailed, replay.error());
  const Result<ReplayOutcome> outcome = replay->Run();
  if (!outcome.ok()) return Complain(kExitFailed, outcome.error());
  return kExitDone;
}

}  // namespace sentinel
