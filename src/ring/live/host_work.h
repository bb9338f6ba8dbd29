// What keeps a host thread from its next call although nothing is wrong: it computes, it writes a
// checkpoint, it waits for its data loader.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "probe/host/proc_files.h"

namespace sentinel {

// Each returns false if it was told to end meanwhile.
bool Compute(Duration how_long);                                   // one core, all the time
bool WriteCheckpoint(const std::string& path, Duration how_long);  // the file is gone afterwards

// A loader process as PyTorch has it: forked early, idle until it is asked.
class Loader {
 public:
  // Before the process has threads. `path` is the file it reads, which it makes.
  static Result<Loader> Fork(const std::string& path);

  Loader(Loader&& other) noexcept;
  Loader& operator=(Loader&&) = delete;
  ~Loader();  // ends the child and reaps it

  // Waits while the child reads and decodes.
  bool Load(Duration how_long);

 private:
  Loader(pid_t pid, OwnedFd ask, OwnedFd answer)
      : pid_(pid), ask_(std::move(ask)), answer_(std::move(answer)) {}

  pid_t pid_;
  OwnedFd ask_;
  OwnedFd answer_;
};

}  // namespace sentinel
