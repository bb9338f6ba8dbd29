#include "ring/live/relay.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "ring/live/loopback.h"

namespace sentinel {
namespace {

[[noreturn]] void BeRelay(std::vector<Wire> wires, WirePace pace, int control, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  prctl(PR_SET_NAME, "ring-relay");
  signal(SIGINT, SIG_IGN);  // a Ctrl-C is the parent's to act upon
  RelayWires relay(std::move(wires), pace);
  const Status carried = relay.Carry(control);
  if (!carried.ok()) {
    std::fprintf(stderr, "sentinel-ring: relay: %s\n", carried.error().message.c_str());
  }
  _exit(carried.ok() ? 0 : 1);
}

}  // namespace

Result<Relay> Relay::Start(const std::vector<Edge>& edges, WirePace pace) {
  Relay relay;
  relay.edges_ = edges;
  relay.flows_bytes_ = std::max<size_t>(1, edges.size()) * sizeof(WireFlows);
  void* memory =
      mmap(nullptr, relay.flows_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return IoError("shared memory");
  relay.flows_ = static_cast<WireFlows*>(memory);

  std::vector<Wire> wires;
  const auto close_listeners = [&wires] {
    for (const Wire& wire : wires) close(wire.listener);
  };
  for (size_t i = 0; i < edges.size(); ++i) {
    new (&relay.flows_[i]) WireFlows{Flow::kPass, Flow::kPass};
    const Result<Listening> listening = ListenOnLoopback(pace.socket_bytes);
    if (!listening.ok()) {
      close_listeners();
      return listening.error();
    }
    wires.push_back({listening->fd, edges[i].target_port, &relay.flows_[i]});
    relay.ports_.push_back(listening->port);
  }
  int control[2];
  if (pipe2(control, O_CLOEXEC) != 0) {
    const Error error = IoError("pipe");
    close_listeners();
    return error;
  }
  relay.control_ = control[1];
  const pid_t parent = getpid();
  relay.pid_ = fork();
  if (relay.pid_ == 0) {
    close(control[1]);
    BeRelay(std::move(wires), pace, control[0], parent);
  }
  const Error forked = IoError("fork");
  close(control[0]);
  close_listeners();
  if (relay.pid_ < 0) return forked;
  return relay;
}

Relay::Relay(Relay&& other) noexcept
    : edges_(std::move(other.edges_)),
      ports_(std::move(other.ports_)),
      flows_(std::exchange(other.flows_, nullptr)),
      flows_bytes_(other.flows_bytes_),
      control_(std::exchange(other.control_, -1)),
      pid_(std::exchange(other.pid_, -1)) {}

Relay::~Relay() {
  if (control_ >= 0) close(control_);
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (flows_ != nullptr) munmap(flows_, flows_bytes_);
}

void Relay::Set(Rank from, Rank to, Flow flow) {
  for (size_t i = 0; i < edges_.size(); ++i) {
    if (edges_[i].from == from && edges_[i].to == to) flows_[i].forward = flow;
    if (edges_[i].from == to && edges_[i].to == from) flows_[i].backward = flow;
  }
  // Its pipe cannot be full: it is read at once. One that is gone shows in Alive.
  const char told = 1;
  [[maybe_unused]] const ssize_t written = write(control_, &told, 1);
}

bool Relay::Alive() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = -1;
  return pid_ > 0;
}

}  // namespace sentinel
