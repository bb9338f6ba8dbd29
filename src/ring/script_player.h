// Plays one rank's callbacks with their recorded threads, order and timing.
//
// Every recorded thread is a thread here, with the recorded name. The order of the file is the
// truth across threads: the turn goes from hand to hand, and whoever holds it sleeps until the
// callback's moment (never spins) and makes it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include "ring/recording.h"
#include "ring/timeline.h"

namespace sentinel {

class ScriptPlayer {
 public:
  // `make` is called on the callback's own thread, one call at a time. The recording outlives the
  // player.
  using Make = std::function<void(size_t index, const Callback& callback)>;
  ScriptPlayer(const RankRecording& rank, Timeline timeline, Make make);

  // Wakes the threads once more to end.
  ~ScriptPlayer();

  // Returns when the last callback has been made. The threads stay, idle, as those of a job that
  // hangs.
  void Play();

 private:
  void Body(uint32_t thread);
  void PassTurn();

  const RankRecording& rank_;
  const Timeline timeline_;
  const Make make_;
  size_t next_ = 0;  // belongs to the holder of the turn
  bool ending_ = false;
  std::vector<std::unique_ptr<std::binary_semaphore>> turns_;  // one per thread
  std::binary_semaphore done_{0};
  std::vector<std::thread> threads_;
};

}  // namespace sentinel
