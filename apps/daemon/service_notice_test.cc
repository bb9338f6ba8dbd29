#include "daemon/service_notice.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <boost/asio/post.hpp>

namespace sentinel {
namespace {

using namespace std::chrono_literals;

// The service manager's end: an abstract socket, and what came to it.
class Manager {
 public:
  explicit Manager(const char* watchdog_usec) {
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const std::string name = "@gpu-sentinel-notice-test-" + std::to_string(getpid());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
    if (watchdog_usec != nullptr) setenv("WATCHDOG_USEC", watchdog_usec, 1);
  }
  ~Manager() {
    close(fd_);
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  std::vector<std::string> Heard() {
    std::vector<std::string> heard;
    char buffer[256];
    for (ssize_t got = 0; (got = recv(fd_, buffer, sizeof buffer, 0)) >= 0;) {
      heard.emplace_back(buffer, static_cast<size_t>(got));
    }
    return heard;
  }

 private:
  int fd_ = -1;
};

TEST(ServiceNotice, TellsReadyAndStopping) {
  Manager manager(nullptr);
  boost::asio::io_context io;
  ServiceNotice notice(io);
  EXPECT_EQ(manager.Heard(), std::vector<std::string>{"READY=1"});
  io.run_for(5ms);
  EXPECT_TRUE(manager.Heard().empty());
  notice.Stopping();
  EXPECT_EQ(manager.Heard(), std::vector<std::string>{"STOPPING=1"});
}

TEST(ServiceNotice, TheWatchdogIsFedWhileTheLoopTurns) {
  Manager manager("4000");
  boost::asio::io_context io;
  ServiceNotice notice(io);
  manager.Heard();
  size_t fed = 0;
  for (int pass = 0; pass < 1000 && fed < 3; ++pass) {
    io.run_one_for(10ms);
    fed += manager.Heard().size();
  }
  EXPECT_GE(fed, 3u);
}

TEST(ServiceNotice, ADaemonThatEndsIsNotHeldUp) {
  Manager manager("60000000");
  boost::asio::io_context io;
  ServiceNotice notice(io);
  notice.Stopping();
  io.run_for(10s);
  EXPECT_TRUE(io.stopped());
}

TEST(ServiceNotice, ALoopThatStandsStillFeedsNobody) {
  Manager manager("2000");
  boost::asio::io_context io;
  ServiceNotice notice(io);
  size_t fed_meanwhile = 99;
  boost::asio::post(io, [&] {
    manager.Heard();
    const auto until = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < until) {
    }
    fed_meanwhile = manager.Heard().size();
  });
  io.run_for(30ms);
  EXPECT_EQ(fed_meanwhile, 0u);
}

TEST(ServiceNotice, AWatchdogOfAnotherProcessIsNotOurs) {
  Manager manager("2000");
  setenv("WATCHDOG_PID", "1", 1);
  boost::asio::io_context io;
  ServiceNotice notice(io);
  io.run_for(10ms);
  EXPECT_EQ(manager.Heard(), std::vector<std::string>{"READY=1"});
}

TEST(ServiceNotice, WithoutAManagerNothingHappens) {
  boost::asio::io_context io;
  ServiceNotice notice(io);
  notice.Stopping();
  EXPECT_EQ(io.run_for(1ms), 0u);
}

}  // namespace
}  // namespace sentinel
