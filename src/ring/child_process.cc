#include "ring/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace sentinel {
namespace {

// Ours, with the command's variables in place of equal ones.
std::vector<std::string> MergeEnvironment(const std::vector<std::string>& over) {
  std::vector<std::string> merged = over;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view ours(*entry);
    const std::string_view name = ours.substr(0, ours.find('=') + 1);
    bool replaced = false;
    for (const std::string& variable : over) replaced = replaced || variable.starts_with(name);
    if (!replaced) merged.emplace_back(ours);
  }
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Between fork and exec: async-signal-safe calls alone.
[[noreturn]] void Become(const ChildCommand& command, char* const* arguments,
                         char* const* environment, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);  // the parent waits for its signals with them blocked
  signal(SIGINT, SIG_IGN);                   // a Ctrl-C is the parent's to act upon
  const rlimit no_core{0, 0};                // crashes are part of the show and leave no files here
  setrlimit(RLIMIT_CORE, &no_core);
  for (const int descriptor : command.descriptors) fcntl(descriptor, F_SETFD, 0);
  execve("/proc/self/exe", arguments, environment);
  _exit(127);
}

}  // namespace

Result<ChildProcess> ChildProcess::Spawn(const ChildCommand& command) {
  std::vector<std::string> arguments{"sentinel-ring"};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment = MergeEnvironment(command.environment);
  const std::vector<char*> argument_pointers = Pointers(arguments);
  const std::vector<char*> environment_pointers = Pointers(environment);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return Error{ErrorCode::kIo, std::string("fork: ") + std::strerror(errno)};
  if (pid == 0) Become(command, argument_pointers.data(), environment_pointers.data(), parent);
  return ChildProcess(pid);
}

ChildProcess::~ChildProcess() {
  if (reaped_) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::Signal(int signal) const {
  if (!reaped_) kill(pid_, signal);
}

std::optional<int> ChildProcess::Reap() {
  if (reaped_) return std::nullopt;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  if (!WIFEXITED(status) && !WIFSIGNALED(status)) return std::nullopt;  // a tracee's stop
  reaped_ = true;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace sentinel
