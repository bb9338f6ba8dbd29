#include "daemon/service_notice.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace sentinel {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A number, or 0.
int64_t Number(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

// Twice within the time that systemd allows, as it advises.
Duration FeedEvery() {
  const std::string pid = Variable("WATCHDOG_PID");
  if (!pid.empty() && Number(pid) != getpid()) return Duration(0);
  return std::chrono::microseconds(Number(Variable("WATCHDOG_USEC"))) / 2;
}

}  // namespace

ServiceNotice::ServiceNotice(boost::asio::io_context& io)
    : socket_(Variable("NOTIFY_SOCKET")), feed_every_(FeedEvery()), timer_(io) {
  Send("READY=1");
  if (!socket_.empty() && feed_every_ > Duration(0)) Feed();
}

void ServiceNotice::Stopping() {
  Send("STOPPING=1");
  timer_.cancel();
}

void ServiceNotice::Feed() {
  Send("WATCHDOG=1");
  timer_.expires_after(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(feed_every_));
  timer_.async_wait([this](boost::system::error_code cancelled) {
    if (!cancelled) Feed();
  });
}

void ServiceNotice::Send(const std::string& state) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // of the abstract kind
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  // A manager that is not listening finds out by itself that it has heard nothing.
  [[maybe_unused]] const ssize_t sent = sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
                                               reinterpret_cast<const sockaddr*>(&address), size);
  close(fd);
}

}  // namespace sentinel
