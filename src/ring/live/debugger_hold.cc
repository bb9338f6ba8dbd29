#include "ring/live/debugger_hold.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

namespace sentinel {

Result<DebuggerHold> DebuggerHold::Attach(pid_t pid) {
  DebuggerHold hold;
  std::error_code error;
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
    const pid_t thread = static_cast<pid_t>(std::stol(task.path().filename().string()));
    if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
      if (errno == ESRCH) continue;  // it has just ended
      return Error{ErrorCode::kUnavailable,
                   "cannot debug process " + std::to_string(pid) + ": " + std::strerror(errno)};
    }
    hold.threads_.push_back(thread);
    ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    waitpid(thread, nullptr, __WALL);
  }
  if (hold.threads_.empty()) {
    return Error{ErrorCode::kNotFound, "process " + std::to_string(pid) + " has no threads"};
  }
  return hold;
}

DebuggerHold::~DebuggerHold() {
  for (const pid_t thread : threads_) ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
}

}  // namespace sentinel
