// When what was learned is written down, and what the log hears of it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "agent/learned_file.h"
#include "agent/worker.h"
#include "base/time.h"
#include "progress/learned.h"

namespace sentinel {

class LearnedKeeper {
 public:
  // An agent that is killed forgets what it learned since; one that is told to end, nothing.
  static constexpr Duration kSaveEvery = std::chrono::seconds(10);

  LearnedKeeper(LearnedFile file, std::string boot);

  // What there is to take up, empty if there is nothing.
  Learned Load();

  bool Due(Instant now);
  // On another thread: a disk that is busy with a checkpoint may hold a writer for seconds. While
  // one is written the next is dropped.
  void Save(Learned learned);
  void SaveAtEnd(Learned learned);

 private:
  std::string TextOf(Learned learned);

  const LearnedFile file_;
  const std::string boot_;
  Instant saved_at_{};
  bool full_ = false;
  bool wrote_ = false;  // there is a file of this run
  std::atomic<bool> failing_ = false;
  std::unique_ptr<Worker> disk_;
};

}  // namespace sentinel
