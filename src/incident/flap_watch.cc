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

std::optional<FlapMemory> FlapWatch::Remember(const std::string& source, Moment now) {
  auto it = sources_.find(source);
  if (it == sources_.end() || Recent(it->second, now.mono) < kFlapsLow) return std::nullopt;
  if (kept_.size() >= kFlapsKeptMax && !kept_.contains(source)) return std::nullopt;
  kept_[source] = it->second.openings.back() + kFlapSpan;
  FlapMemory memory{source, it->second.unstable, {}};
  for (Instant opening : it->second.openings) {
    const auto ago = std::chrono::duration_cast<std::chrono::milliseconds>(now.mono - opening);
    memory.openings.push_back(now.wall + -ago);
  }
  return memory;
}

std::vector<std::string> FlapWatch::TakeForgotten(Instant now) {
  std::vector<std::string> forgotten;
  std::erase_if(kept_, [&](const auto& kept) {
    if (kept.second > now) return false;
    forgotten.push_back(kept.first);
    return true;
  });
  return forgotten;
}

bool FlapWatch::Recall(const FlapMemory& memory, Moment now) {
  if (sources_.size() >= kFlapSourcesMax || kept_.size() >= kFlapsKeptMax) return false;
  Source source;
  source.unstable = memory.unstable;
  for (WallTime opening : memory.openings) {
    // A clock that has been set back makes no opening later than now.
    const Duration ago = std::max<Duration>(now.wall.since_epoch - opening.since_epoch, {});
    if (ago < kFlapSpan && source.openings.size() < kOpeningsMax) {
      source.openings.push_back(now.mono - ago);
    }
  }
  if (source.openings.empty()) return false;
  kept_[memory.source] = source.openings.back() + kFlapSpan;
  sources_[memory.source] = std::move(source);
  return true;
}

}  // namespace sentinel
