#include "ring/live/wiring.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "ring/live/loopback.h"

namespace sentinel {
namespace {

constexpr std::string_view kAnswer = "OK\n";
constexpr size_t kLineMax = 128;
constexpr Duration kRound = std::chrono::milliseconds(20);
constexpr int kBacklog = 128;
constexpr timeval kLineWithin{5, 0};  // a connection that says nothing holds up the others so long

// Small buffers, so that a sender feels it when nobody reads; set before the connection is made,
// since the window it announces follows from them.
OwnedFd MakeSocket(size_t buffer_bytes) {
  OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  const int bytes = static_cast<int>(buffer_bytes);
  // TCP announces half of this as window; one below a slice or two would make every slice wait for
  // the receiver to read the one before.
  const int receive_bytes = 2 * bytes;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
  return fd;
}

// One line, byte by byte: what follows it belongs to the slices.
std::optional<std::string> ReadLine(int fd) {
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kLineWithin, sizeof kLineWithin);
  std::string line;
  char c = 0;
  while (line.size() < kLineMax && recv(fd, &c, 1, 0) == 1) {
    if (c == '\n') return line;
    line.push_back(c);
  }
  return std::nullopt;
}

bool Say(int fd, std::string_view text) {
  return send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

}  // namespace

std::string WireLine(const WireName& name) {
  char line[kLineMax];
  std::snprintf(line, sizeof line, "SENTINEL %016" PRIx64 " %s %d %d %d\n", name.comm,
                name.use == WireUse::kRing ? "ring" : "p2p", name.channel, name.from, name.to);
  return line;
}

std::optional<WireName> ParseWireLine(std::string_view line) {
  WireName name;
  char use[8] = "";
  int end = 0;
  const std::string text(line);
  const int read = std::sscanf(text.c_str(), "SENTINEL %16" SCNx64 " %7s %d %d %d%n", &name.comm,
                               use, &name.channel, &name.from, &name.to, &end);
  const std::string_view said(use);
  if (read != 5 || static_cast<size_t>(end) != text.size() || (said != "ring" && said != "p2p")) {
    return std::nullopt;
  }
  name.use = said == "ring" ? WireUse::kRing : WireUse::kP2p;
  return name;
}

Result<Wiring> Wiring::Listen(const JobPlan& plan, Rank rank) {
  const uint16_t port = plan.listen_ports[static_cast<size_t>(rank)];
  OwnedFd listener = MakeSocket(plan.socket_bytes);
  const sockaddr_in address = Loopback(port);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    return Error{ErrorCode::kIo, "127.0.0.1:" + std::to_string(port) + ": " + std::strerror(errno)};
  }
  return Wiring(plan, std::move(listener));
}

Result<Wires> Wiring::Connect(const std::vector<WireName>& outgoing,
                              const std::vector<WireName>& incoming, Duration within) {
  const Instant limit = MonotonicNow() + within;
  Wires wires;
  std::map<WireName, Attempt> attempts;
  for (const WireName& name : outgoing) attempts[name] = {};
  while (wires.size() < outgoing.size() + incoming.size()) {
    if (MonotonicNow() > limit) {
      std::string missing;
      for (const auto& [name, attempt] : attempts) missing += " to rank " + std::to_string(name.to);
      for (const WireName& name : incoming) {
        if (!wires.contains(name)) missing += " from rank " + std::to_string(name.from);
      }
      return Error{ErrorCode::kTimeout, "no connection" + missing};
    }
    std::vector<pollfd> polled{{listener_.get(), POLLIN, 0}};
    std::vector<WireName> asked;
    for (auto& [name, attempt] : attempts) {
      if (!attempt.fd.open()) TryConnect(name, &attempt);
      if (!attempt.fd.open()) continue;
      polled.push_back({attempt.fd.get(), POLLIN, 0});
      asked.push_back(name);
    }
    poll(polled.data(), polled.size(), static_cast<int>(ToMillis(kRound)));
    if (polled[0].revents != 0) Accept(incoming, &wires);
    for (size_t i = 0; i < asked.size(); ++i) {
      if (polled[i + 1].revents == 0) continue;
      Attempt& attempt = attempts[asked[i]];
      char answer[kAnswer.size()];
      const size_t wanted = kAnswer.size() - attempt.answer.size();
      const ssize_t got = recv(attempt.fd.get(), answer, wanted, 0);
      if (got <= 0) {
        attempt = {};  // whoever took it has gone
        continue;
      }
      attempt.answer.append(answer, static_cast<size_t>(got));
      if (attempt.answer.size() < kAnswer.size()) continue;
      wires[asked[i]] = std::move(attempt.fd);
      attempts.erase(asked[i]);
    }
  }
  return wires;
}

void Wiring::TryConnect(const WireName& name, Attempt* attempt) const {
  OwnedFd fd = MakeSocket(plan_.socket_bytes);
  const sockaddr_in address = Loopback(plan_.PortFor(name.from, name.to));
  const int rc = connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (rc == 0 && Say(fd.get(), WireLine(name))) *attempt = {std::move(fd), {}};
}

void Wiring::Accept(const std::vector<WireName>& incoming, Wires* wires) const {
  OwnedFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd.open()) return;
  const std::optional<std::string> line = ReadLine(fd.get());
  if (!line) return;
  const std::optional<WireName> name = ParseWireLine(*line);
  if (!name || std::find(incoming.begin(), incoming.end(), *name) == incoming.end()) return;
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (Say(fd.get(), kAnswer)) (*wires)[*name] = std::move(fd);
}

}  // namespace sentinel
