// sentinel-gateway: admits events, finds the culprit of a hang, and tells the floor until it has
// heard.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "gateway/gateway.h"

namespace {

using namespace sentinel;

constexpr const char* kAbout =
    "Admits events of GPU nodes, finds the culprit of a hang from what agents report, and drives\n"
    "lamps and voices until each has answered.\n\n"
    "Exit code: 0 ended by SIGTERM or SIGINT, 1 the start failed, 2 the command line is wrong.";
constexpr const char* kDefaultConfig = "/etc/gpu-sentinel/gateway.toml";
// Answers that wait for a commit are given before we go.
constexpr auto kLastAnswers = std::chrono::milliseconds(300);

int StartFailed(const Error& error, const char* hint) {
  std::fprintf(stderr, "sentinel-gateway: %s\n%s\n", error.message.c_str(), hint);
  return 1;
}

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
      return "End the process that holds the address, or configure another one in `listen` or "
             "`agents`.";
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
  CLI::App app{kAbout, "sentinel-gateway"};
  app.set_version_flag("--version", SENTINEL_VERSION);
  std::string config_path = kDefaultConfig;
  std::string log_level = "info";
  bool check = false;
  bool demo = false;
  app.add_option("--config", config_path, "Configuration, TOML")->capture_default_str();
  app.add_flag("--check", check, "Read configuration and key files, say what is wrong, and end");
  app.add_flag("--demo", demo, "Allow the published sample key, which everybody knows");
  app.add_option("--log-level", log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    app.exit(wrong);
    return 2;
  }

  spdlog::set_default_logger(spdlog::stderr_color_mt("sentinel-gateway"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %^%l%$ %v");
  spdlog::set_level(spdlog::level::from_str(log_level));

  Result<GatewayConfig> config = LoadGatewayConfig(config_path);
  if (!config.ok()) return StartFailed(config.error(), HintFor(config.error().code));
  GatewayOptions options;
  options.config = std::move(*config);
  options.sample_key = demo ? SampleKey::kAllowed : SampleKey::kRefused;
  if (check) {
    Status keys = CheckKeys(options);
    if (!keys.ok()) return StartFailed(keys.error(), HintFor(keys.error().code));
    std::printf("%s: ok\n", config_path.c_str());
    return 0;
  }

  std::signal(SIGPIPE, SIG_IGN);
  boost::asio::io_context io(1);
  Result<std::unique_ptr<Gateway>> gateway = Gateway::Create(io, std::move(options));
  if (!gateway.ok()) return StartFailed(gateway.error(), HintFor(gateway.error().code));
  spdlog::info("event=started version={} http_port={} agent_port={}", SENTINEL_VERSION,
               (*gateway)->http_port(), (*gateway)->agent_port());

  boost::asio::signal_set signals(io, SIGTERM, SIGINT);
  boost::asio::steady_timer last(io);
  signals.async_wait([&](boost::system::error_code error, int signal) {
    if (error) return;
    spdlog::info("event=stopping signal={}", signal);
    (*gateway)->Stop();
    last.expires_after(kLastAnswers);
    last.async_wait([&io](boost::system::error_code) { io.stop(); });
  });
  io.run();
  *gateway = std::unique_ptr<Gateway>();  // writes what is queued
  spdlog::info("event=stopped");
  return 0;
}
