// Time as data. Pure code is handed an Instant and never asks a clock; base/clock.h is for the
// shell.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sentinel {

using Duration = std::chrono::nanoseconds;

// A point on this machine's monotonic clock (CLOCK_MONOTONIC). Comparable within one host and boot,
// meaningless elsewhere: what crosses the network is an age, never an Instant.
struct Instant {
  Duration since_boot{0};

  auto operator<=>(const Instant&) const = default;
  friend Instant operator+(Instant a, Duration d) { return {a.since_boot + d}; }
  friend Instant operator-(Instant a, Duration d) { return {a.since_boot - d}; }
  friend Duration operator-(Instant a, Instant b) { return a.since_boot - b.since_boot; }
};

// A point in civil time, for people and for signatures. It may step; nothing is decided by it that
// an Instant could decide.
struct WallTime {
  std::chrono::milliseconds since_epoch{0};

  auto operator<=>(const WallTime&) const = default;
  friend WallTime operator+(WallTime a, std::chrono::milliseconds d) { return {a.since_epoch + d}; }
};

// Both readings of one moment, for code that decides by the one and records the other.
struct Moment {
  Instant mono;
  WallTime wall;
};

constexpr int64_t ToMillis(Duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

// RFC 3339, UTC, milliseconds: 2026-08-17T08:30:00.250Z. The form of every *_at in our JSON.
std::string FormatRfc3339(WallTime time);
// Of that form or with fewer or more decimals, or an offset such as +08:00 for the Z. Nothing if it
// is none.
std::optional<WallTime> ParseRfc3339(std::string_view text);

}  // namespace sentinel
