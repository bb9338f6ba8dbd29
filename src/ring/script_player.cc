#include "ring/script_player.h"

#include <pthread.h>

#include <cerrno>
#include <ctime>
#include <string>
#include <utility>

#include "base/clock.h"

namespace sentinel {
namespace {

constexpr size_t kThreadNameMax = 15;  // the kernel's limit; NCCL's names are cut to it as well

// Sleeping costs a timer and a wake-up; a callback due so soon is made at once.
constexpr Duration kNotWorthSleeping = std::chrono::microseconds(50);

void SleepUntil(Instant due) {
  if (due - MonotonicNow() < kNotWorthSleeping) return;
  const auto ns = due.since_boot.count();
  timespec until{};
  until.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  until.tv_nsec = static_cast<decltype(until.tv_nsec)>(ns % 1'000'000'000);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}  // namespace

ScriptPlayer::ScriptPlayer(const RankRecording& rank, Timeline timeline, Make make)
    : rank_(rank), timeline_(timeline), make_(std::move(make)) {
  for (size_t i = 0; i < rank.threads.size(); ++i) {
    turns_.push_back(std::make_unique<std::binary_semaphore>(0));
  }
  for (uint32_t i = 0; i < turns_.size(); ++i) {
    threads_.emplace_back([this, i] { Body(i); });
  }
}

ScriptPlayer::~ScriptPlayer() {
  ending_ = true;  // the semaphores below publish it
  for (auto& turn : turns_) turn->release();
  for (std::thread& thread : threads_) thread.join();
}

void ScriptPlayer::Play() {
  PassTurn();
  done_.acquire();
}

void ScriptPlayer::PassTurn() {
  if (next_ == rank_.callbacks.size()) {
    done_.release();
  } else {
    turns_[rank_.callbacks[next_].thread]->release();
  }
}

void ScriptPlayer::Body(uint32_t thread) {
  const char* name = nullptr;
  for (;;) {
    turns_[thread]->acquire();
    if (ending_) return;
    while (next_ < rank_.callbacks.size() && rank_.callbacks[next_].thread == thread) {
      const Callback& callback = rank_.callbacks[next_];
      if (callback.thread_name != name) {  // names are interned; NCCL renames threads at times
        name = callback.thread_name;
        pthread_setname_np(pthread_self(), std::string(name).substr(0, kThreadNameMax).c_str());
      }
      SleepUntil(timeline_.At(callback.at_ns));
      make_(next_, callback);
      ++next_;
    }
    PassTurn();
  }
}

}  // namespace sentinel
