// What a debugger does first: it attaches to every thread of a process and holds it.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/result.h"

namespace sentinel {

class DebuggerHold {
 public:
  // All of it is to be done by one thread, which is the process's parent (the kernel may allow
  // nobody else).
  static Result<DebuggerHold> Attach(pid_t pid);

  DebuggerHold(DebuggerHold&& other) noexcept = default;
  DebuggerHold& operator=(DebuggerHold&&) = delete;
  ~DebuggerHold();  // lets it go

 private:
  DebuggerHold() = default;

  std::vector<pid_t> threads_;
};

}  // namespace sentinel
