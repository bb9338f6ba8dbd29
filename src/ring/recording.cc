#include "ring/recording.h"

#include <algorithm>
#include <limits>

namespace sentinel {

bool Callback::Starts() const {
  return !std::holds_alternative<InitCall>(what) && !std::holds_alternative<FinalizeCall>(what) &&
         !std::holds_alternative<StateChange>(what) && !std::holds_alternative<Stop>(what);
}

bool RankRecording::Finalizes() const {
  return std::any_of(callbacks.begin(), callbacks.end(), [](const Callback& callback) {
    return std::holds_alternative<FinalizeCall>(callback.what);
  });
}

std::optional<int64_t> RankRecording::pid() const {
  for (const Callback& callback : callbacks) {
    if (const auto* init = std::get_if<InitCall>(&callback.what)) return init->pid;
  }
  return std::nullopt;
}

int64_t Recording::OriginNs() const {
  int64_t origin = std::numeric_limits<int64_t>::max();
  for (const RankRecording& rank : ranks) {
    for (const Callback& callback : rank.callbacks) origin = std::min(origin, callback.at_ns);
  }
  return origin;
}

int64_t Recording::LastNs() const {
  int64_t last = 0;
  for (const RankRecording& rank : ranks) {
    for (const Callback& callback : rank.callbacks) last = std::max(last, callback.at_ns);
  }
  return last;
}

}  // namespace sentinel
