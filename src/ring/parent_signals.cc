#include "ring/parent_signals.h"

#include <ctime>

namespace sentinel {
namespace {

// A blocked signal is delivered to who waits for it even where it is ignored, and whoever starts us
// under nohup wants to be rid of SIGHUP.
bool HangupIsIgnored() {
  struct sigaction current {};
  return sigaction(SIGHUP, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  if (!HangupIsIgnored()) sigaddset(&signals, SIGHUP);
  return signals;
}

}  // namespace

void BlockParentSignals() {
  sigset_t signals = EndingSignals();
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool WaitOneTick(Duration tick) {
  const sigset_t signals = EndingSignals();
  timespec wait{};
  wait.tv_nsec = tick.count();
  return sigtimedwait(&signals, nullptr, &wait) > 0;
}

}  // namespace sentinel
