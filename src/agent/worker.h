// One thread for what may block, with a bounded queue in front of it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace sentinel {

class Worker {
 public:
  explicit Worker(size_t jobs_max);
  // Ends after the job that runs; those that wait are not run.
  ~Worker();

  // False if jobs_max wait already.
  bool Post(std::function<void()> job);

 private:
  void Run();

  const size_t jobs_max_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace sentinel
