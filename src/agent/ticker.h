// Calls back every period, on the io_context's thread. One kernel timer that runs on by itself: a
// steady_timer beside others is set twice for each time it goes off, and at rest that shows.
#pragma once

#include <sys/timerfd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/check.h"
#include "base/time.h"

namespace sentinel {

class Ticker {
 public:
  // The first call comes at once. Calls that were missed are not made up for.
  Ticker(boost::asio::io_context& io, Duration period, std::function<void()> tick)
      : tick_(std::move(tick)), timer_(io) {
    const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    CHECK(fd >= 0);
    timer_.assign(fd);
    const auto nanoseconds = std::chrono::nanoseconds(period).count();
    const timespec every{static_cast<time_t>(nanoseconds / 1'000'000'000),
                         static_cast<long>(nanoseconds % 1'000'000'000)};
    const itimerspec times{every, {0, 1}};
    CHECK(timerfd_settime(fd, 0, &times, nullptr) == 0);
    Wait();
  }

 private:
  void Wait() {
    timer_.async_read_some(boost::asio::buffer(expired_.get(), sizeof *expired_),
                           [this, alive = std::weak_ptr<uint64_t>(expired_)](
                               const boost::system::error_code& error, size_t) {
                             if (error || alive.expired()) return;
                             tick_();
                             Wait();
                           });
  }

  std::function<void()> tick_;
  std::shared_ptr<uint64_t> expired_ = std::make_shared<uint64_t>();  // how often, since the last
  boost::asio::posix::stream_descriptor timer_;
};

}  // namespace sentinel
