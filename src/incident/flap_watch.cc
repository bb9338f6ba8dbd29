#include "incident/flap_watch.h"

#include <algorithm>

namespace sentinel {

size_t FlapWatch::Recent(const Source& source, Instant now) {
  return static_cast<size_t>(
      std::count_if(source.openings.begin(), source.openings.end(),
                    [now](Instant opening) { return now - opening < kFlapSpan; }));
}

bool FlapWatch::OnOpened(const std::string& source, Instant now) {
  if (sources_.size() >= kFlapSourcesMax && !sources_.contains(source)) {
    std::erase_if(sources_, [now](const auto& entry) { return Recent(entry.second, now) == 0; });
    if (sources_.size() >= kFlapSourcesMax) sources_.erase(sources_.begin());
  }
  Source& it = sources_[source];
  it.openings.push_back(now);
  while (it.openings.size() > kOpeningsMax || now - it.openings.front() >= kFlapSpan) {
    it.openings.pop_front();
  }
  const bool was_unstable = it.unstable && it.openings.size() >= kFlapsLow;
  it.unstable = was_unstable || it.openings.size() >= kFlapsHigh;
  return it.unstable && !was_unstable;
}

bool FlapWatch::Unstable(const std::string& source, Instant now) const {
  auto it = sources_.find(source);
  return it != sources_.end() && it->second.unstable && Recent(it->second, now) >= kFlapsLow;
}

Duration FlapWatch::Window(const std::string& source, Duration window, Instant now) const {
  if (!Unstable(source, now)) return window;
  size_t doublings = Recent(sources_.at(source), now);
  for (; doublings >= kFlapsLow && window < kFlapWindowMax; --doublings) window *= 2;
  return std::min(window, kFlapWindowMax);
}

}  // namespace sentinel
