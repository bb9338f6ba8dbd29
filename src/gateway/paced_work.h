// Work that holds up the loop, one piece after the other, each followed by as long a pause as it
// took: however much of it there is, half of the time is left to alarms.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace sentinel {

class PacedWork {
 public:
  // `io` outlives it.
  explicit PacedWork(boost::asio::io_context& io);
  ~PacedWork();  // what waits is not done any more
  PacedWork(const PacedWork&) = delete;
  PacedWork& operator=(const PacedWork&) = delete;

  // Done at once where nothing is under way, else when those before it and their pauses are over.
  // Who hands it in bounds how much waits.
  void Add(std::function<void()> work);

 private:
  void Next();

  boost::asio::steady_timer pause_;
  std::deque<std::function<void()>> waiting_;
  bool busy_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sentinel
