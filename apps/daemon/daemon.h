// What every daemon's main.cc does in the same way: its command line, its log, its signals, and
// what it says when it cannot start.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>

#include "base/result.h"
#include "manual/manual.h"

namespace sentinel {

// Exit codes of a daemon.
constexpr int kExitEnded = 0;         // by a signal; or --check found everything right
constexpr int kExitStartFailed = 1;   // or --check found something wrong
constexpr int kExitCommandWrong = 2;  // the command line

struct DaemonArguments {
  std::string config;  // what applies where --config is not given
  bool check = false;
  std::string log_level = "info";
};

// Takes --config, --check, --log-level, --help and --version, and what `app` has of its own. The
// exit code if there is nothing more to do. `notes` are of its manual page; the exit codes are a
// daemon's.
std::optional<int> ReadArguments(CLI::App* app, int argc, char** argv, DaemonArguments* arguments,
                                 ManualNotes notes);

// `key=value` lines on standard error, from any thread. Also: a peer that hangs up is an error code
// from here on, never SIGPIPE, and a SIGHUP waits for RunUntilSignal: who has told us to read again
// what we are still reading has not told us to end.
void StartLog(const std::string& name, const std::string& level);

// "name: what and why", and on the next line what to do. Returns kExitStartFailed.
int StartFailed(const std::string& name, const Error& error, const std::string& what_to_do);

// Runs `io` until SIGTERM or SIGINT, then calls `stop`, which ends it: at once, or when it is done.
// The daemon is ready when this is called: a service manager is told so, and from then on that the
// loop turns.
// `reload`, where there is one, is called for every SIGHUP, once for those since StartLog.
void RunUntilSignal(boost::asio::io_context& io, std::function<void()> stop,
                    std::function<void()> reload = {});

}  // namespace sentinel
