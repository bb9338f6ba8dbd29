// sentinel-gateway: admits events, finds the culprit of a hang, and tells the floor until it has
// heard.
#include <spdlog/spdlog.h>

#include <cstdio>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"
#include "daemon/daemon.h"
#include "gateway/config_check.h"
#include "gateway/gateway.h"

namespace {

using namespace sentinel;

constexpr const char* kAbout =
    "Admits events of GPU nodes, finds the culprit of a hang from what agents report, and drives\n"
    "lamps and voices until each has answered.";
constexpr const char* kName = "sentinel-gateway";
// Answers that wait for a commit are given before we go.
constexpr auto kLastAnswers = std::chrono::milliseconds(300);

const char* HintFor(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "Correct the configuration; `sentinel-gateway --check` tells whether it is accepted.";
    case ErrorCode::kNotFound:
      return "Create the file or folder, or name another one in the configuration.";
    case ErrorCode::kDenied:
      return "Give the key file mode 0600 and the daemon's user as its owner, with a key of your "
             "own in it; the published sample key is for --demo only.";
    case ErrorCode::kUnavailable:
      return "End the process that holds the address or folder, or configure another one in "
             "`listen`, `agents` or `state_dir`.";
    case ErrorCode::kCorrupt:
    case ErrorCode::kExhausted:
    case ErrorCode::kTimeout:
    case ErrorCode::kIo:
      return "Look at the folder named in `state_dir`: it must exist and be writable.";
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{kAbout, kName};
  DaemonArguments arguments;
  arguments.config = "/etc/gpu-sentinel/gateway.toml";
  bool demo = false;
  app.add_flag("--demo", demo, "Allow the published sample key, which everybody knows");
  ManualNotes notes;
  notes.purpose = "admits events, finds who is to blame, and drives lamps until they answer";
  notes.files = {
      {arguments.config, "configuration; every key is in docs/formats/config-gateway.md"},
      {"/var/lib/gpu-sentinel/sentinel.db", "what it must still know after a power cut, SQLite"},
      {"/run/gpu-sentinel/gateway.sock", "the API for this host; sentinelctl(1) asks here"}};
  if (const auto code = ReadArguments(&app, argc, argv, &arguments, std::move(notes))) return *code;
  StartLog(kName, arguments.log_level);
  const auto failed = [](const Error& error) {
    return StartFailed(kName, error, HintFor(error.code));
  };

  Result<GatewayConfig> config = LoadGatewayConfig(arguments.config);
  if (!config.ok()) return failed(config.error());
  GatewayOptions options;
  options.config = std::move(*config);
  options.sample_key = demo ? SampleKey::kAllowed : SampleKey::kRefused;
  if (arguments.check) {
    std::vector<std::string> warnings;
    const Status start = CheckStart(options, &warnings);
    if (!start.ok()) return failed(start.error());
    for (const std::string& warning : warnings) {
      std::fprintf(stderr, "%s: warning: %s\n", kName, warning.c_str());
    }
    std::printf("%s: ok\n", arguments.config.c_str());
    return kExitEnded;
  }

  for (const std::string& warning : StandingWarnings(options.config)) {
    spdlog::warn("event=configuration what=\"{}\"", warning);
  }
  UseTimeZone(options.config.timezone);
  boost::asio::io_context io(1);
  Result<std::unique_ptr<Gateway>> gateway = Gateway::Create(io, std::move(options));
  if (!gateway.ok()) return failed(gateway.error());
  spdlog::info("event=started version={} http_port={} agent_port={}", SENTINEL_VERSION,
               (*gateway)->http_port(), (*gateway)->agent_port());
  boost::asio::steady_timer last(io);
  const auto stop = [&] {
    (*gateway)->Stop();
    last.expires_after(kLastAnswers);
    last.async_wait([&io](boost::system::error_code) { io.stop(); });
  };
  const auto reload = [&] {
    static_cast<void>((*gateway)->Reload(LoadGatewayConfig(arguments.config)));
  };
  RunUntilSignal(io, stop, reload);
  *gateway = std::unique_ptr<Gateway>();  // writes what is queued
  spdlog::info("event=stopped");
  return kExitEnded;
}
