#include "daemon/daemon.h"

#include <gtest/gtest.h>

#include <csignal>

namespace sentinel {
namespace {

TEST(RunUntilSignal, AHangupDuringTheStartIsHeardOnceTheDaemonIsReady) {
  StartLog("daemon_test", "error");
  std::raise(SIGHUP);
  std::raise(SIGHUP);
  boost::asio::io_context io;
  int reloads = 0;
  RunUntilSignal(
      io, [&io] { io.stop(); },
      [&reloads] {
        if (++reloads == 1) std::raise(SIGHUP);
        if (reloads == 2) std::raise(SIGTERM);
      });
  EXPECT_EQ(reloads, 2);
}

}  // namespace
}  // namespace sentinel
