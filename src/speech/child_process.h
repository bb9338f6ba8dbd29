// Programs we ask for something: started without a shell, killed when they take too long.
//
// Blocking; for worker threads. No descriptor of ours reaches the child but its standard three, and
// a child that goes away is an error here, never a signal.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sentinel {

struct ChildLimits {
  Duration timeout = std::chrono::seconds(3);
  size_t output_bytes_max = 8u << 20;  // beyond: the child is killed, kExhausted
};

// Runs a program (found through PATH) with `input` as its standard input; answers its standard
// output. kNotFound: there is no such program; kTimeout; kIo: it ended with another status than 0.
Result<std::string> RunChild(const std::vector<std::string>& arguments, std::string_view input,
                             ChildLimits limits);

// A program we write to, such as a player. Killed when this object goes, unless Finish was called.
class ChildWriter {
 public:
  ChildWriter() = default;
  ~ChildWriter();
  ChildWriter(const ChildWriter&) = delete;
  ChildWriter& operator=(const ChildWriter&) = delete;

  Status Start(const std::vector<std::string>& arguments);
  bool running() const { return pid_ > 0; }

  // Waits at most `timeout` for room. How much was taken; 0 is a timeout, an error a child that has
  // gone.
  Result<size_t> WriteSome(std::string_view bytes, Duration timeout);
  // No more input follows. True once the child has ended; waits at most `timeout`.
  bool Finish(Duration timeout);
  void Kill();

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
};

}  // namespace sentinel
