#include "incident/quiet_hours.h"

#include <utility>

namespace sentinel {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

// Longer than any pause between two changes, the day on which clocks are put back included.
constexpr minutes kLongestWait = hours(25);
constexpr minutes kDay = hours(24);

}  // namespace

QuietHours::QuietHours(minutes begin, minutes end, UtcOffset offset)
    : begin_(begin), end_(end), offset_(std::move(offset)) {}

bool QuietHours::Quiet(WallTime at) const {
  milliseconds of_day = (at.since_epoch + offset_(at)) % milliseconds(kDay);
  if (of_day < milliseconds(0)) of_day += kDay;
  if (begin_ <= end_) return of_day >= begin_ && of_day < end_;
  return of_day >= begin_ || of_day < end_;
}

// Limits lie on whole minutes of every zone in use, and so do the moments at which clocks are put:
// the minutes are looked through one by one.
WallTime QuietHours::NextChange(WallTime at) const {
  const bool now = Quiet(at);
  WallTime next{std::chrono::floor<minutes>(at.since_epoch)};
  for (minutes passed{0}; passed < kLongestWait; ++passed) {
    next = next + minutes(1);
    if (Quiet(next) != now) return next;
  }
  return at + milliseconds(kDay);
}

std::optional<WallTime> QuietHours::EndedWithin(WallTime at, minutes within) const {
  if (Quiet(at)) return std::nullopt;
  WallTime end{std::chrono::floor<minutes>(at.since_epoch)};
  for (; at.since_epoch - end.since_epoch <= within; end = end + -minutes(1)) {
    if (Quiet(end + -minutes(1))) return end;
  }
  return std::nullopt;
}

}  // namespace sentinel
