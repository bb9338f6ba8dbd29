// How the disk is, as lines of the log and as metrics: a failure is logged once, and its end.
#pragma once

#include <string>

#include "store/store.h"
#include "web/metrics.h"

namespace sentinel {

class StoreWatch {
 public:
  // `metrics` outlives this object.
  explicit StoreWatch(GatewayMetrics& metrics) : metrics_(metrics) {}

  // About once a second.
  void Look(const StoreHealth& health);

 private:
  GatewayMetrics& metrics_;
  bool was_ok_ = true;
  std::string moved_aside_;  // a corrupt file, the last one that was told
};

}  // namespace sentinel
