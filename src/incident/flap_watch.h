// Sources that cannot decide: a fault that comes and goes again and again is told once as unstable,
// and then rarely.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <string>

#include "base/time.h"

namespace sentinel {

// A source that opens so often within kFlapSpan is unstable, and stays it until it opens less than
// kFlapsLow times within it: between the two it is what it was.
constexpr size_t kFlapsHigh = 5;
constexpr size_t kFlapsLow = 3;
constexpr Duration kFlapSpan = std::chrono::minutes(15);
// How far the debounce window of an unstable source widens: it doubles with each opening.
constexpr Duration kFlapWindowMax = std::chrono::minutes(30);
// Sources that are remembered; beyond it the first by name is forgotten.
constexpr size_t kFlapSourcesMax = 65'536;

class FlapWatch {
 public:
  // It has opened. True if that makes it unstable, which it was not before.
  bool OnOpened(const std::string& source, Instant now);

  bool Unstable(const std::string& source, Instant now) const;
  // The debounce window of that source, where that of a stable one is `window`.
  Duration Window(const std::string& source, Duration window, Instant now) const;

 private:
  struct Source {
    std::deque<Instant> openings;  // of the last kFlapSpan, at most kOpeningsMax
    bool unstable = false;
  };
  static constexpr size_t kOpeningsMax = 32;

  static size_t Recent(const Source& source, Instant now);

  std::map<std::string, Source> sources_;
};

}  // namespace sentinel
