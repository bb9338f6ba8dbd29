// Runs sentinel-ring as a child for tests.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"

namespace sentinel {

inline std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Program {
 public:
  // Its standard input stays open until CloseInput; standard output and error are gathered.
  explicit Program(std::vector<std::string> arguments) {
    int in[2];
    int out[2];
    CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    pid_ = fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      dup2(out[1], STDERR_FILENO);
      std::vector<char*> pointers{const_cast<char*>(SENTINEL_RING)};
      for (std::string& argument : arguments) pointers.push_back(argument.data());
      pointers.push_back(nullptr);
      execv(SENTINEL_RING, pointers.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    output_ = out[0];
  }
  ~Program() {
    CloseInput();
    if (!reaped_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    CloseOutput();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  const std::string& text() const { return text_; }
  void Signal(int signal) const { kill(pid_, signal); }
  void Tell(const std::string& words) const {
    CHECK(write(input_, words.data(), words.size()) == static_cast<ssize_t>(words.size()));
  }
  void CloseInput() {
    if (input_ >= 0) close(input_);
    input_ = -1;
  }

  // As a reader that has seen enough.
  void CloseOutput() {
    if (output_ >= 0) close(output_);
    output_ = -1;
  }

  // Reads until `words` have been said, or it has ended or said nothing for a minute: false.
  bool Says(const std::string& words) {
    while (text_.find(words) == std::string::npos) {
      if (!ReadMore()) return false;
    }
    return true;
  }
  // Its exit code, or minus the signal.
  int Wait() {
    while (ReadMore()) {
    }
    int status = 0;
    CHECK(waitpid(pid_, &status, 0) == pid_);
    reaped_ = true;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  bool ReadMore() {
    if (output_ < 0) return false;
    pollfd readable{output_, POLLIN, 0};
    if (poll(&readable, 1, 60'000) <= 0) return false;
    char chunk[4096];
    const ssize_t bytes = read(output_, chunk, sizeof chunk);
    if (bytes <= 0) return false;
    text_.append(chunk, static_cast<size_t>(bytes));
    return true;
  }

  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string text_;
  bool reaped_ = false;
};

// Asks until it is so, for ten seconds at most.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace sentinel
