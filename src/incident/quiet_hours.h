// The hours in which a site wants to be spoken to only about what cannot wait.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "base/time.h"

namespace sentinel {

// What the site's civil time is ahead of UTC at that moment: it changes twice a year in some zones.
using UtcOffset = std::function<std::chrono::seconds(WallTime)>;

// A digest that nobody was there to tell is told so much later at most: after an end at 08:00 until
// noon. In the afternoon it is no news of the night.
constexpr std::chrono::minutes kDigestLateMax = std::chrono::hours(4);

class QuietHours {
 public:
  // From `begin` to `end`, minutes of the site's day [0, 1440). An interval that ends before it
  // begins runs over midnight; one that ends where it begins is empty.
  QuietHours(std::chrono::minutes begin, std::chrono::minutes end, UtcOffset offset);

  bool Quiet(WallTime at) const;
  // The next moment after `at` at which Quiet changes. Where the clocks are put forward over a
  // limit, it is the moment they are put; where they are put back over it, the first time it comes.
  // A day from `at` where it never changes.
  WallTime NextChange(WallTime at) const;
  // When they ended last, if it is not quiet at `at` and that was no longer than `within` ago.
  std::optional<WallTime> EndedWithin(WallTime at, std::chrono::minutes within) const;

 private:
  std::chrono::minutes begin_;
  std::chrono::minutes end_;
  UtcOffset offset_;
};

}  // namespace sentinel
