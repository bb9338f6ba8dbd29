// One lamp for one hang of a job, in however many of its communicators it shows.
//
// Pure, and knows nothing of why a stall is red.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <vector>

#include "correlate/judgement.h"
#include "correlate/stall.h"

namespace sentinel {

// A stall that began before the lamp of its job went out may be a remnant of it for so long.
constexpr Duration kRemnantFor = std::chrono::seconds(2);
constexpr size_t kHealedMax = 1024;  // the oldest goes

class JobLamps {
 public:
  // A red stall is over.
  void Healed(const Verdict& verdict, Instant now);

  // Whether the hang a judgement is about has its lamp on another stall: one of the same job that
  // is red, or was a moment ago. A second fault in the same job has a lamp of its own only where
  // it is seen inside an operation and at another place.
  bool Shown(const WatchedGroup& of, const Judgement& judgement,
             const std::vector<WatchedGroup*>& stalls, Instant now) const;

 private:
  using Processes = std::set<std::pair<std::string, int>>;  // host, pid
  struct Past {
    std::string job;
    Processes named;
    Instant at;
  };
  static Processes NamedIn(const Verdict& verdict);

  std::deque<Past> healed_;
};

}  // namespace sentinel
