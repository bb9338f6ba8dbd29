// What systemd is told of a daemon: that it is ready, that it lives, that it ends.
//
// The protocol of sd_notify(3), spoken over $NOTIFY_SOCKET; without one, and for anything that goes
// wrong on the way, nothing happens. The watchdog is fed by a timer of the event loop: a loop that
// does not turn feeds nobody, whatever other threads do.
#pragma once

#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/time.h"

namespace sentinel {

class ServiceNotice {
 public:
  // Tells that the daemon is ready: what it serves, it serves. The io_context outlives it.
  explicit ServiceNotice(boost::asio::io_context& io);

  // The daemon has begun to end; the loop may run out of work.
  void Stopping();

 private:
  void Feed();
  void Send(const std::string& state);

  std::string socket_;
  Duration feed_every_{0};  // 0: nobody watches
  boost::asio::steady_timer timer_;
};

}  // namespace sentinel
