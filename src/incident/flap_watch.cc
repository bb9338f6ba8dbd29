#include "incident/flap_watch.h"

#include <algorithm>

namespace sentinel {

size_t FlapWatch::Recent(const Source& source, Instant now) {
  return static_cast<size_t>(
      std::count_if(source.openings.begin(), source.openings.end(),
                    [now](Instant opening) { return now - opening < kFlapSpan; }));
}

// It has opened just now: it is the last to be forgotten.
FlapWatch::Source& FlapWatch::Latest(const std::string& source) {
  auto [it, fresh] = sources_.try_emplace(source);
  if (!fresh) {
    order_.splice(order_.end(), order_, it->second.place);
    return it->second;
  }
  it->second.place = order_.insert(order_.end(), &it->first);
  if (sources_.size() > kFlapSourcesMax) {
    sources_.erase(sources_.find(*order_.front()));
    order_.pop_front();
  }
  return it->second;
}

bool FlapWatch::OnOpened(const std::string& source, Instant now) {
  Source& it = Latest(source);
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
  std::deque<Instant> openings;
  for (WallTime opening : memory.openings) {
    // A clock that has been set back makes no opening later than now.
    const Duration ago = std::max<Duration>(now.wall.since_epoch - opening.since_epoch, {});
    if (ago < kFlapSpan && openings.size() < kOpeningsMax) openings.push_back(now.mono - ago);
  }
  if (openings.empty()) return false;
  kept_[memory.source] = openings.back() + kFlapSpan;
  Source& source = Latest(memory.source);
  source.openings = std::move(openings);
  source.unstable = memory.unstable;
  return true;
}

}  // namespace sentinel
