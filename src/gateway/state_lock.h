// A state folder has one gateway at a time.
#pragma once

#include <string>

#include "base/result.h"

namespace sentinel {

// The folder is ours while it lives; a process that dies gives it back.
class StateLock {
 public:
  // Locks `<folder>/lock` and writes our pid into it. kUnavailable if another process has it, with
  // its pid and what to do; kNotFound if there is no such folder, or none for files. Where the file
  // cannot be made (a disk that is full or read-only must not keep an alarm from ringing) there is
  // no lock, and a line in the log.
  static Result<StateLock> Take(const std::string& folder);

  StateLock(StateLock&& other) noexcept;
  StateLock& operator=(StateLock&& other) noexcept;
  ~StateLock();

  bool held() const { return fd_ >= 0; }

 private:
  explicit StateLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace sentinel
