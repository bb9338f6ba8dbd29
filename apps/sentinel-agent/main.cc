// sentinel-agent: watches the training processes of one node and tells the gateway.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "agent/agent.h"
#include "agent/config.h"

namespace {

constexpr const char* kAbout =
    "Watches the progress boards of this node's training processes, tells the gateway what stands\n"
    "still, and takes events on a Unix socket. Reads only; never stops or slows a job.\n\n"
    "Exit code: 0 ended by a signal, or the configuration is right (--check); 1 the start failed;\n"
    "2 the command line or the configuration is wrong.";

int Complain(const std::string& what, const std::string& advice, int code) {
  std::fprintf(stderr, "sentinel-agent: %s\n%s\n", what.c_str(), advice.c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{kAbout, "sentinel-agent"};
  app.set_version_flag("--version", SENTINEL_VERSION);
  std::string path;
  bool check = false;
  app.add_option("--config", path, "Configuration, TOML (default: all defaults)");
  app.add_flag("--check", check, "Read the configuration, say whether it is right, and end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  spdlog::set_default_logger(spdlog::stderr_logger_st("agent"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e%z level=%l %v");

  const sentinel::Result<sentinel::AgentConfig> config =
      path.empty() ? sentinel::ParseAgentConfig("", "defaults") : sentinel::LoadAgentConfig(path);
  if (!config.ok()) {
    return Complain(config.error().message,
                    "Correct the configuration; packaging/agent.toml shows all keys.", 2);
  }
  if (check) {
    std::printf("%s: right; host %s, gateway %s\n", path.empty() ? "defaults" : path.c_str(),
                config->host.c_str(), config->gateway.ToString().c_str());
    return 0;
  }

  std::signal(SIGPIPE, SIG_IGN);
  boost::asio::io_context io(1);
  boost::asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&io](const boost::system::error_code& error, int number) {
    if (error) return;
    spdlog::info("agent=ending signal={}", number);
    io.stop();
  });
  sentinel::Result<std::unique_ptr<sentinel::Agent>> agent = sentinel::Agent::Create(*config, io);
  if (!agent.ok()) {
    return Complain("cannot start: " + agent.error().message,
                    "Set ingest_socket to a path this user may serve, or to \"\" to do without it.",
                    1);
  }
  spdlog::info("agent=started version={} host=\"{}\" id=\"{}\" boards=\"{}\" gateway={}",
               SENTINEL_VERSION, config->host, config->agent_id, config->board_dir,
               config->gateway.ToString());
  io.run();
  return 0;
}
