#include "gateway/paced_work.h"

#include <chrono>
#include <utility>

#include "base/clock.h"

namespace sentinel {

PacedWork::PacedWork(boost::asio::io_context& io) : pause_(io) {}

PacedWork::~PacedWork() { *alive_ = false; }

void PacedWork::Add(std::function<void()> work) {
  waiting_.push_back(std::move(work));
  if (!busy_) Next();
}

void PacedWork::Next() {
  busy_ = true;
  const std::function<void()> work = std::move(waiting_.front());
  waiting_.pop_front();
  const Instant began = MonotonicNow();
  work();
  pause_.expires_after(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(MonotonicNow() - began));
  pause_.async_wait([this, alive = alive_](boost::system::error_code error) {
    if (error || !*alive) return;
    busy_ = false;
    if (!waiting_.empty()) Next();
  });
}

}  // namespace sentinel
