// How patient deliveries to terminals are.
#pragma once

#include <chrono>

#include "base/time.h"
#include "outbox/outbox.h"

namespace sentinel {

struct DeliveryPace {
  Duration attempt_timeout = std::chrono::seconds(3);
  Duration ping_every = std::chrono::seconds(5);
  Duration unreachable_after = std::chrono::seconds(15);
  RetryPolicy retry;
};

}  // namespace sentinel
