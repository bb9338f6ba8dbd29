#include "speech/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"

extern char** environ;

namespace sentinel {
namespace {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { Close(); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;

  int get() const { return fd_; }
  void Reset(int fd) {
    Close();
    fd_ = fd;
  }
  int Release() { return std::exchange(fd_, -1); }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

Error SystemError(const std::string& what) {
  return {ErrorCode::kIo, what + ": " + strerror(errno)};
}

// The child's standard streams; -1: /dev/null.
Result<pid_t> Spawn(const std::vector<std::string>& arguments, int input, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  auto direct = [&](int fd, int target, int flags) {
    if (fd >= 0) {
      posix_spawn_file_actions_adddup2(&actions, fd, target);
    } else {
      posix_spawn_file_actions_addopen(&actions, target, "/dev/null", flags, 0);
    }
  };
  direct(input, STDIN_FILENO, O_RDONLY);
  direct(output, STDOUT_FILENO, O_WRONLY);
  direct(-1, STDERR_FILENO, O_WRONLY);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  int failed = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed == ENOENT) {
    return Error{ErrorCode::kNotFound, "there is no program " + arguments[0]};
  }
  if (failed != 0) {
    return Error{ErrorCode::kIo, "cannot start " + arguments[0] + ": " + strerror(failed)};
  }
  return pid;
}

// A socket pair rather than a pipe: a write to a child that has gone is EPIPE and no signal.
Status InputPair(Fd* ours, Fd* childs) {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return SystemError("socketpair");
  }
  ours->Reset(pair[0]);
  childs->Reset(pair[1]);
  return {};
}

int MillisUntil(Instant deadline) {
  return static_cast<int>(std::clamp<int64_t>(ToMillis(deadline - MonotonicNow()) + 1, 0, 60'000));
}

int Reap(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

bool ReapBy(pid_t pid, Instant deadline, int* status) {
  while (waitpid(pid, status, WNOHANG) != pid) {
    if (MonotonicNow() >= deadline) return false;
    timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return true;
}

// Feeds the input and drains the output until the child closes it.
Status Exchange(Fd* input, std::string_view text, int output, Instant deadline, size_t bytes_max,
                std::string* answer) {
  std::array<char, 64 * 1024> buffer{};
  if (text.empty()) input->Close();
  while (true) {
    std::array<pollfd, 2> waits{};
    waits[0] = {output, POLLIN, 0};
    waits[1] = {input->get(), POLLOUT, 0};
    int ready = poll(waits.data(), input->get() >= 0 ? 2 : 1, MillisUntil(deadline));
    if (ready < 0 && errno != EINTR) return SystemError("poll");
    if (MonotonicNow() >= deadline) return Error{ErrorCode::kTimeout, "took too long"};
    if (ready <= 0) continue;
    if (input->get() >= 0 && waits[1].revents != 0) {
      ssize_t sent = send(input->get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) text.remove_prefix(static_cast<size_t>(sent));
      bool gone = sent < 0 && errno != EAGAIN && errno != EINTR;  // its answer may still be good
      if (text.empty() || gone) input->Close();
    }
    if (waits[0].revents != 0) {
      ssize_t got = read(output, buffer.data(), buffer.size());
      if (got == 0) return {};
      if (got < 0 && errno != EINTR) return SystemError("read");
      if (got > 0) answer->append(buffer.data(), static_cast<size_t>(got));
      if (answer->size() > bytes_max) return Error{ErrorCode::kExhausted, "said too much"};
    }
  }
}

}  // namespace

Result<std::string> RunChild(const std::vector<std::string>& arguments, std::string_view input,
                             ChildLimits limits) {
  CHECK(!arguments.empty());
  Instant deadline = MonotonicNow() + limits.timeout;
  Fd our_input;
  Fd child_input;
  TRY(InputPair(&our_input, &child_input));
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return SystemError("pipe");
  Fd our_output(pipe_ends[0]);
  Fd child_output(pipe_ends[1]);
  pid_t pid = TRY(Spawn(arguments, child_input.get(), child_output.get()));
  child_input.Close();
  child_output.Close();

  std::string answer;
  Status exchanged =
      Exchange(&our_input, input, our_output.get(), deadline, limits.output_bytes_max, &answer);
  int status = 0;
  if (!exchanged.ok() || !ReapBy(pid, deadline, &status)) {
    kill(pid, SIGKILL);
    status = Reap(pid);
  }
  if (!exchanged.ok()) {
    return Error{exchanged.error().code, arguments[0] + ": " + exchanged.error().message};
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error{
        ErrorCode::kIo,
        arguments[0] + (WIFEXITED(status)
                            ? " ended with status " + std::to_string(WEXITSTATUS(status))
                            : " was killed by signal " + std::to_string(WTERMSIG(status)))};
  }
  return answer;
}

ChildWriter::~ChildWriter() { Kill(); }

Status ChildWriter::Start(const std::vector<std::string>& arguments) {
  CHECK(!running() && !arguments.empty());
  Fd ours;
  Fd childs;
  TRY(InputPair(&ours, &childs));
  pid_ = TRY(Spawn(arguments, childs.get(), -1));
  fd_ = ours.Release();
  return {};
}

Result<size_t> ChildWriter::WriteSome(std::string_view bytes, Duration timeout) {
  if (fd_ < 0) return Error{ErrorCode::kUnavailable, "the child is not running"};
  pollfd wait{fd_, POLLOUT, 0};
  int ready = poll(&wait, 1, static_cast<int>(ToMillis(timeout)));
  if (ready == 0 || (ready < 0 && errno == EINTR)) return size_t{0};
  ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return static_cast<size_t>(sent);
  if (errno == EAGAIN || errno == EINTR) return size_t{0};
  return SystemError("write to child");
}

bool ChildWriter::Finish(Duration timeout) {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  if (pid_ <= 0) return true;
  int status = 0;
  if (!ReapBy(pid_, MonotonicNow() + timeout, &status)) return false;
  pid_ = -1;
  return true;
}

void ChildWriter::Kill() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  Reap(std::exchange(pid_, -1));
}

}  // namespace sentinel
