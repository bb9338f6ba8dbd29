// A child that runs this same program: started, signalled, buried. It ends with the thread that
// started it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sentinel {

struct ChildCommand {
  std::vector<std::string> arguments;    // without the program's name
  std::vector<std::string> environment;  // NAME=value, over ours
  std::vector<int> descriptors;          // close-on-exec ones it keeps, under the same numbers
};

class ChildProcess {
 public:
  // Runs /proc/self/exe. Call it from the main thread alone: the child is killed when the thread
  // that made it ends.
  static Result<ChildProcess> Spawn(const ChildCommand& command);

  ChildProcess(ChildProcess&& other) noexcept
      : pid_(other.pid_), reaped_(std::exchange(other.reaped_, true)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  // kills and reaps

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;  // nothing if it has been reaped

  // Reaps it if it has ended: exit code, or minus the signal. Once; nothing while it runs.
  std::optional<int> Reap();
  bool Reaped() const { return reaped_; }

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  bool reaped_ = false;
};

}  // namespace sentinel
