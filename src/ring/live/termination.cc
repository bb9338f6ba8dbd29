#include "ring/live/termination.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>

#include "base/clock.h"

namespace sentinel {
namespace {

// A signal that comes between the look and the sleep is seen after this at the latest.
constexpr Duration kLook = std::chrono::milliseconds(200);

std::atomic<bool> told{false};

void Note(int) { told.store(true, std::memory_order_relaxed); }

sigset_t Sigterm() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

void WatchForTermination() {
  struct sigaction action {};
  action.sa_handler = &Note;
  sigaction(SIGTERM, &action, nullptr);
}

bool ToldToEnd() { return told.load(std::memory_order_relaxed); }

void BlockTermination() {
  const sigset_t set = Sigterm();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void UnblockTermination() {
  const sigset_t set = Sigterm();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool SleepUnlessTold(Duration how_long) {
  const Instant until = MonotonicNow() + how_long;
  while (!ToldToEnd()) {
    const Duration left = std::min(until - MonotonicNow(), kLook);
    if (left <= Duration(0)) return true;
    timespec nap{};
    nap.tv_nsec = static_cast<long>(left.count());
    nanosleep(&nap, nullptr);
  }
  return false;
}

}  // namespace sentinel
