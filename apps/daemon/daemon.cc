#include "daemon/daemon.h"

#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <utility>

#include <boost/asio/signal_set.hpp>

#include "daemon/service_notice.h"

namespace sentinel {
namespace {

// Of this thread, and of the threads it starts.
void MaskHangups(int how) {
  sigset_t hangups;
  sigemptyset(&hangups);
  sigaddset(&hangups, SIGHUP);
  pthread_sigmask(how, &hangups, nullptr);
}

}  // namespace

std::optional<int> ReadArguments(CLI::App* app, int argc, char** argv, DaemonArguments* arguments,
                                 ManualNotes notes) {
  app->set_version_flag("--version", SENTINEL_VERSION);
  app->add_option("--config", arguments->config, "Configuration, TOML")->capture_default_str();
  app->add_flag("--check", arguments->check,
                "Read the configuration and the files it names, say what is wrong, and end");
  app->add_option("--log-level", arguments->log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  notes.exit_codes = {{kExitEnded, "ended by SIGTERM or SIGINT, or --check found everything right"},
                      {kExitStartFailed, "the start failed, or --check found something wrong"},
                      {kExitCommandWrong, "the command line is wrong"}};
  AddManual(app, std::move(notes));
  try {
    app->parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app->exit(asked);
  } catch (const CLI::ParseError& wrong) {
    app->exit(wrong);
    return kExitCommandWrong;
  }
  return std::nullopt;
}

void StartLog(const std::string& name, const std::string& level) {
  signal(SIGPIPE, SIG_IGN);
  MaskHangups(SIG_BLOCK);
  spdlog::set_default_logger(spdlog::stderr_color_mt(name));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%eZ level=%^%l%$ %v", spdlog::pattern_time_type::utc);
  spdlog::set_level(spdlog::level::from_str(level));
}

int StartFailed(const std::string& name, const Error& error, const std::string& what_to_do) {
  std::fprintf(stderr, "%s: %s\n%s\n", name.c_str(), error.message.c_str(), what_to_do.c_str());
  return kExitStartFailed;
}

void RunUntilSignal(boost::asio::io_context& io, std::function<void()> stop,
                    std::function<void()> reload) {
  boost::asio::signal_set hangups(io);
  std::function<void(const boost::system::error_code&, int)> on_hangup =
      [&](const boost::system::error_code& error, int) {
        if (error) return;
        reload();
        hangups.async_wait(on_hangup);
      };
  if (reload) {
    hangups.add(SIGHUP);
    hangups.async_wait(on_hangup);
  }
  MaskHangups(SIG_UNBLOCK);
  boost::asio::signal_set signals(io, SIGTERM, SIGINT);
  ServiceNotice notice(io);
  signals.async_wait([&](const boost::system::error_code& error, int signal) {
    if (error) return;
    boost::system::error_code ignored;
    hangups.cancel(ignored);
    spdlog::info("event=stopping signal={}", signal);
    notice.Stopping();
    stop();
  });
  io.run();
}

}  // namespace sentinel
