#include "ring/replay_command.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "progress/comm_watch.h"
#include "ring/first_mismatch.h"
#include "ring/judge.h"
#include "ring/judgement_report.h"
#include "ring/plugin_path.h"
#include "ring/recording_reader.h"
#include "ring/replay.h"
#include "ring/report_file.h"
#include "ring/timeline.h"

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

// Every rank is a node of its own.
std::vector<Judge::Node> NodesOf(const RunDir& run_dir) {
  std::vector<Judge::Node> nodes;
  for (size_t i = 0; i < run_dir.nodes().size(); ++i) {
    nodes.push_back({"replay-" + std::to_string(i), run_dir.node(i)});
  }
  return nodes;
}

Status WriteReport(const JudgementReport& report, const ReplayCommandOptions& options) {
  TRY(WriteReportFile(options.json_path, ReportJson(report)));
  return SayTo(ForPeople(options.json_path, options.events_path), ReportText(report));
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
  if (const Status writable = WriteReportFile(options.json_path, ""); !writable.ok()) {
    return Complain(kExitUnusable, writable.error());
  }
  Result<RunDir> run_dir =
      RunDir::Create(options.run_dir, static_cast<int>(recording->ranks.size()));
  if (!run_dir.ok()) return Complain(kExitFailed, run_dir.error());
  if (options.keep) run_dir->Keep();

  ReplayOptions replay_options = OptionsOf(options, *plugin);
  std::unique_ptr<Judge> judge;
  if (options.judge) {
    judge = std::make_unique<Judge>(NodesOf(*run_dir));
    if (!options.hold_ms) replay_options.hold_on = [&judge] { return judge->Undecided(); };
  }
  Result<Replay> replay = Replay::Prepare(*recording, replay_options, *run_dir, *events);
  if (!replay.ok()) return Complain(kExitFailed, replay.error());
  if (judge) judge->Start();  // after the signals are blocked, which threads inherit
  const Result<ReplayOutcome> outcome = replay->Run();
  if (!outcome.ok()) return Complain(kExitFailed, outcome.error());
  std::vector<Judged> judged;
  if (judge) judged = judge->Stop();  // before it sees the ranks die of our own hand
  replay->End();
  if (!judge) return kExitDone;

  std::optional<Instant> mismatch;
  if (const std::optional<int64_t> at_ns = FirstMismatchNs(*recording)) {
    mismatch = Timeline{recording->OriginNs(), outcome->start, options.speed}.At(*at_ns);
  }
  JudgementReport report = SumUp(judged, outcome->progress, outcome->start, mismatch);
  report.recording = recording->summary.name;
  report.ranks = static_cast<int>(recording->ranks.size());
  const Status written = WriteReport(report, options);
  if (!written.ok()) return Complain(kExitFailed, written.error());
  if (outcome->cut_short) {
    return Complain(kExitFailed, {ErrorCode::kUnavailable,
                                  "told to end before the recording was over; the "
                                  "report is of what was seen until then"});
  }
  if (outcome->stall && !report.verdict) {
    const WatchOptions watch;
    return Complain(
        kExitFailed,
        {ErrorCode::kTimeout,
         "the ring stood still and no verdict came; a communicator that has not finished " +
             std::to_string(watch.warmup_operations) + " operations is judged after " +
             std::to_string(ToMillis(watch.warmup_limit) / 1000) +
             " s (--hold-ms holds on so long)"});
  }
  return kExitDone;
}

}  // namespace sentinel
