#include "ring/live/live_command.h"

#include <cstdio>
#include <memory>
#include <random>
#include <utility>

#include <nlohmann/json.hpp>

#include "ring/event_log.h"
#include "ring/live/fault_request.h"
#include "ring/live/live_job.h"
#include "ring/plugin_path.h"
#include "ring/replay_command.h"
#include "ring/report_file.h"
#include "ring/run_dir.h"

namespace sentinel {
namespace {

constexpr const char* kNoPlugin = "none";

int Complain(int exit_code, const Error& error) {
  std::fprintf(stderr, "sentinel-ring: %s\n", error.message.c_str());
  return exit_code;
}

Result<LiveJobOptions> OptionsOf(const LiveCommandOptions& command) {
  const auto refuse = [](std::string why) {
    return Error{ErrorCode::kInvalidArgument, std::move(why)};
  };
  LiveJobOptions options;
  const std::optional<LiveLayout> layout = ParseLiveLayout(command.layout);
  if (!layout) return refuse("layout '" + command.layout + "': there are ring, sendrecv, mixed");
  const std::optional<LiveTransport> transport = ParseLiveTransport(command.transport);
  if (!transport) return refuse("transport '" + command.transport + "': there are socket, ib");
  options.layout.layout = *layout;
  options.layout.transport = *transport;
  options.layout.ranks = command.ranks;
  options.layout.nodes = command.nodes;
  options.layout.compute = std::chrono::milliseconds(command.compute_ms);
  std::random_device chance;  // communicators of two jobs are told apart by what the seed makes
  options.layout.seed = command.seed.value_or((uint64_t{chance()} << 20) ^ chance());
  for (const std::string& text : command.faults) {
    FaultRequest fault = TRY(ParseFaultRequest(text, command.ranks));
    options.faults.push_back(std::move(fault));
  }
  if (command.plugin != kNoPlugin) {
    auto plugin = TRY(FindPlugin(command.plugin));
    options.plugin = std::move(plugin);
  }
  options.abi_max = command.abi_max;
  options.iterations = command.iterations;
  if (command.seconds > 0) {
    options.lasting = Duration(static_cast<int64_t>(command.seconds * 1e9));
  }
  return options;
}

Status WriteReport(const LiveOutcome& outcome, const LiveCommandOptions& options) {
  const double seconds = std::chrono::duration<double>(outcome.took).count();
  const double pace = seconds > 0 ? static_cast<double>(outcome.iterations) / seconds : 0;
  nlohmann::ordered_json json{{"ranks", options.ranks},
                              {"layout", options.layout},
                              {"transport", options.transport},
                              {"faults", options.faults},
                              {"seconds", seconds},
                              {"iterations", outcome.iterations},
                              {"iterations_per_s", pace},
                              {"operations", outcome.operations},
                              {"elements_wrong", outcome.elements_wrong},
                              {"finished", outcome.finished}};
  TRY(WriteReportFile(options.json_path, json.dump(2) + "\n"));
  char words[256];
  std::snprintf(
      words, sizeof words,
      "%d ranks, %s: %llu iterations in %.1f s (%.2f a second), %llu operations verified, "
      "%llu elements wrong\n",
      options.ranks, options.transport.c_str(), static_cast<unsigned long long>(outcome.iterations),
      seconds, pace, static_cast<unsigned long long>(outcome.operations),
      static_cast<unsigned long long>(outcome.elements_wrong));
  return SayTo(ForPeople(options.json_path, options.events_path), words);
}

}  // namespace

int RunLiveCommand(const LiveCommandOptions& options) {
  const Result<LiveJobOptions> job_options = OptionsOf(options);
  if (!job_options.ok()) return Complain(kExitUnusable, job_options.error());
  Result<EventLog> log = EventLog::Open(options.events_path);
  if (!log.ok()) return Complain(kExitUnusable, log.error());
  if (const Status writable = WriteReportFile(options.json_path, ""); !writable.ok()) {
    return Complain(kExitUnusable, writable.error());
  }
  Result<RunDir> run_dir = RunDir::Create(options.run_dir, options.nodes);
  if (!run_dir.ok()) return Complain(kExitFailed, run_dir.error());
  if (options.keep) run_dir->Keep();

  Result<std::unique_ptr<LiveJob>> job = LiveJob::Prepare(*job_options, *run_dir, *log);
  if (!job.ok()) {
    const bool unusable = job.error().code == ErrorCode::kInvalidArgument;
    return Complain(unusable ? kExitUnusable : kExitFailed, job.error());
  }
  const Result<LiveOutcome> outcome = (*job)->Run();
  (*job)->End();
  if (!outcome.ok()) return Complain(kExitFailed, outcome.error());
  const Status written = WriteReport(*outcome, options);
  if (!written.ok()) return Complain(kExitFailed, written.error());
  return kExitDone;
}

}  // namespace sentinel
