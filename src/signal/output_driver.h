// One way to tell somebody outside: a terminal on the floor, a webhook, an Alertmanager.
#pragma once

#include <functional>

#include "model/incident.h"
#include "signal/answer.h"

namespace sentinel {

class OutputDriver {
 public:
  // Attempts under way are forgotten: their `done` is not called.
  virtual ~OutputDriver() = default;

  // Says it once; when to try again is the outbox's business. `done` runs once, on the io_context,
  // within the attempt's time-out, never from within the call.
  virtual void Send(const Notification& notification, std::function<void(SendResult)> done) = 0;
};

}  // namespace sentinel
