#include "ring/parent_signals.h"

#include <ctime>

namespace sentinel {

sigset_t ParentSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

bool WaitOneTick(Duration tick) {
  const sigset_t signals = ParentSignals();
  timespec wait{};
  wait.tv_nsec = tick.count();
  return sigtimedwait(&signals, nullptr, &wait) > 0;
}

}  // namespace sentinel
