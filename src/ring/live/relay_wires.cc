#include "ring/live/relay_wires.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.h"
#include "ring/live/loopback.h"

namespace sentinel {
namespace {

constexpr Duration kConnectAgain = std::chrono::milliseconds(20);

void Tune(int fd, size_t socket_bytes) {
  const int bytes = static_cast<int>(socket_bytes);
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

bool Again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Result<Listening> ListenOnLoopback(size_t socket_bytes) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return IoError("socket");
  Tune(fd, socket_bytes);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof address;
  auto* const general = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd, general, length) != 0 || listen(fd, SOMAXCONN) != 0 ||
      getsockname(fd, general, &length) != 0) {
    const Error error = IoError("a port on loopback");
    close(fd);
    return error;
  }
  return Listening{fd, ntohs(address.sin_port)};
}

RelayWires::RelayWires(std::vector<Wire> wires, WirePace pace)
    : wires_(std::move(wires)), pace_(pace) {}

RelayWires::~RelayWires() {
  for (Connection& connection : connections_) Close(&connection);
}

Status RelayWires::Carry(int control) {
  std::vector<pollfd> polled;
  for (;;) {
    const Instant before = MonotonicNow();
    const std::optional<Instant> wake = Ask(control, before, &polled);
    const int wait_ms =
        wake ? static_cast<int>(std::max<int64_t>(0, ToMillis(*wake - before) + 1)) : -1;
    if (poll(polled.data(), polled.size(), wait_ms) < 0) {
      if (errno == EINTR) continue;
      return IoError("poll");
    }
    if (polled[0].revents != 0) {
      char told[64];
      const ssize_t bytes = read(control, told, sizeof told);
      if (bytes == 0 || (bytes < 0 && !Again())) return {};
    }
    Act(polled, MonotonicNow());
  }
}

std::optional<Instant> RelayWires::Ask(int control, Instant now, std::vector<pollfd>* polled) {
  std::optional<Instant> wake;
  polled->clear();
  polled->push_back({control, POLLIN, 0});
  for (const Wire& wire : wires_) polled->push_back({wire.listener, POLLIN, 0});
  for (Connection& connection : connections_) {
    if (connection.server < 0 && now >= connection.next_try) Connect(&connection, now);
    Refill(&connection.forward, now);
    Refill(&connection.backward, now);
    AskFor(&connection, &wake, polled);
  }
  return wake;
}

void RelayWires::AskFor(Connection* connection, std::optional<Instant>* wake,
                        std::vector<pollfd>* polled) {
  const auto wake_at = [wake](Instant when) { *wake = *wake ? std::min(**wake, when) : when; };
  short client = 0;
  short server = 0;
  if (connection->server < 0) {
    wake_at(connection->next_try);
  } else if (connection->connecting) {
    server = POLLOUT;
  } else {
    if (Reads(connection->forward)) client |= POLLIN;
    if (Writes(connection->backward)) client |= POLLOUT;
    if (Reads(connection->backward)) server |= POLLIN;
    if (Writes(connection->forward)) server |= POLLOUT;
    for (const Lane* lane : {&connection->forward, &connection->backward}) {
      if (*lane->flow == Flow::kSlow && lane->end > lane->begin) wake_at(lane->refill);
    }
  }
  // A hang-up is reported whether asked for or not: a descriptor that is not served is left out.
  polled->push_back({client != 0 ? connection->client : -1, client, 0});
  polled->push_back({server != 0 ? connection->server : -1, server, 0});
}

void RelayWires::Act(const std::vector<pollfd>& polled, Instant now) {
  size_t at = 1 + wires_.size();
  for (Connection& connection : connections_) {
    const bool ready = (polled[at].revents | polled[at + 1].revents) != 0;
    at += 2;
    if (connection.connecting) {
      if (ready) Connected(&connection, now);
    } else if (connection.server >= 0 &&
               (ready || connection.forward.ended || connection.backward.ended)) {
      Serve(&connection.forward, &connection);
      Serve(&connection.backward, &connection);
    }
    const bool done = connection.forward.passed_on && connection.backward.passed_on;
    if (connection.broken || done) Close(&connection);
  }
  connections_.remove_if([](const Connection& connection) { return connection.client < 0; });
  // Last, for `polled` speaks of the connections there were.
  for (size_t wire = 0; wire < wires_.size(); ++wire) {
    if (polled[1 + wire].revents != 0) Accept(wire, now);
  }
}

void RelayWires::Accept(size_t wire, Instant now) {
  for (;;) {
    const int fd = accept4(wires_[wire].listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    if (connections_.size() >= kConnectionsMax) {
      close(fd);
      continue;
    }
    Tune(fd, pace_.socket_bytes);
    Connection& connection = connections_.emplace_back();
    connection.wire = wire;
    connection.client = fd;
    connection.next_try = now;
    connection.give_up = now + kConnectWithin;
    connection.forward.flow = &wires_[wire].flows->forward;
    connection.backward.flow = &wires_[wire].flows->backward;
    connection.forward.bytes.resize(pace_.socket_bytes);
    connection.backward.bytes.resize(pace_.socket_bytes);
  }
}

void RelayWires::Connect(Connection* connection, Instant now) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    connection->broken = true;
    connection->next_try = now + kConnectAgain;
    return;
  }
  Tune(fd, pace_.socket_bytes);
  const sockaddr_in address = Loopback(wires_[connection->wire].target_port);
  const int rc = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (rc != 0 && errno != EINPROGRESS) {
    close(fd);
    connection->next_try = now + kConnectAgain;
    connection->broken = now >= connection->give_up;
    return;
  }
  connection->server = fd;
  connection->connecting = true;
}

void RelayWires::Connected(Connection* connection, Instant now) {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(connection->server, SOL_SOCKET, SO_ERROR, &error, &length);
  connection->connecting = false;
  if (error != 0) {
    close(connection->server);
    connection->server = -1;
    connection->next_try = now + kConnectAgain;
    connection->broken = now >= connection->give_up;
    return;
  }
  connection->forward.from = connection->backward.to = connection->client;
  connection->forward.to = connection->backward.from = connection->server;
}

bool RelayWires::Reads(const Lane& lane) {
  if (*lane.flow == Flow::kStop || lane.ended) return false;
  return lane.end - lane.begin < lane.bytes.size();
}

bool RelayWires::Writes(const Lane& lane) {
  const Flow flow = *lane.flow;
  if (lane.end == lane.begin) return false;
  return flow == Flow::kPass || (flow == Flow::kSlow && lane.allowance > 0);
}

void RelayWires::Refill(Lane* lane, Instant now) {
  if (*lane->flow != Flow::kSlow) {
    lane->allowance = 0;
    return;
  }
  if (now < lane->refill) return;
  lane->allowance = pace_.slow_bytes;
  lane->refill = now + kSlowPeriod;
}

void RelayWires::Serve(Lane* lane, Connection* connection) {
  if (Reads(*lane)) {
    std::memmove(lane->bytes.data(), lane->bytes.data() + lane->begin, lane->end - lane->begin);
    lane->end -= lane->begin;
    lane->begin = 0;
    const ssize_t got =
        read(lane->from, lane->bytes.data() + lane->end, lane->bytes.size() - lane->end);
    if (got > 0) lane->end += static_cast<size_t>(got);
    if (got == 0) lane->ended = true;
    if (got < 0 && !Again()) connection->broken = true;
  }
  if (Writes(*lane)) {
    size_t bytes = lane->end - lane->begin;
    if (*lane->flow == Flow::kSlow) bytes = std::min(bytes, lane->allowance);
    const ssize_t put = send(lane->to, lane->bytes.data() + lane->begin, bytes, MSG_NOSIGNAL);
    if (put > 0) {
      lane->begin += static_cast<size_t>(put);
      lane->allowance -= std::min(lane->allowance, static_cast<size_t>(put));
    }
    if (put < 0 && !Again()) connection->broken = true;
  }
  if (lane->ended && lane->begin == lane->end && !lane->passed_on && *lane->flow != Flow::kStop) {
    shutdown(lane->to, SHUT_WR);
    lane->passed_on = true;
  }
}

void RelayWires::Close(Connection* connection) {
  // What broke on one side breaks on the other, as if there were one connection.
  const linger at_once{1, 0};
  for (int* fd : {&connection->client, &connection->server}) {
    if (*fd < 0) continue;
    if (connection->broken) setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(*fd);
    *fd = -1;
  }
}

}  // namespace sentinel
