#include "gateway/store_watch.h"

#include <spdlog/spdlog.h>

namespace sentinel {

void StoreWatch::Look(const StoreHealth& health) {
  metrics_.store_ok->Set(health.ok ? 1 : 0);
  metrics_.store_queued_rows->Set(static_cast<double>(health.queued_rows));
  GatewayMetrics::CountedTo(metrics_.store_rows_failed, health.failed_rows);
  if (health.moved_aside != moved_aside_) {
    moved_aside_ = health.moved_aside;
    metrics_.store_corrupt->Increment();
    spdlog::error(
        "event=store_corrupt moved_to={} what=\"the file could not be read and is kept there; "
        "incidents and event ids in it are not known any more\"",
        moved_aside_);
  }
  if (health.ok != was_ok_) {
    was_ok_ = health.ok;
    if (health.ok) {
      spdlog::info("event=store_back");
    } else {
      spdlog::error("event=store_failed why=\"{}\" what=\"alarms ring from memory\"", health.error);
    }
  }
}

}  // namespace sentinel
