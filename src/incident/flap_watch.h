// Sources that cannot decide: a fault that comes and goes again and again is told once as unstable,
// and then rarely.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/flap.h"

namespace sentinel {

// A source that opens so often within kFlapSpan is unstable, and stays it until it opens less than
// kFlapsLow times within it: between the two it is what it was.
constexpr size_t kFlapsHigh = 5;
constexpr size_t kFlapsLow = 3;
constexpr Duration kFlapSpan = std::chrono::minutes(15);
// How far the debounce window of an unstable source widens: it doubles with each opening.
constexpr Duration kFlapWindowMax = std::chrono::minutes(30);
// Sources that are remembered; beyond it the one that opened longest ago is forgotten.
constexpr size_t kFlapSourcesMax = 65'536;

// Sources with at least kFlapsLow openings whose memory is worth keeping over a restart; beyond it
// those of a further source are not.
constexpr size_t kFlapsKeptMax = 1024;

class FlapWatch {
 public:
  // It has opened. True if that makes it unstable, which it was not before.
  bool OnOpened(const std::string& source, Instant now);

  bool Unstable(const std::string& source, Instant now) const;
  // The debounce window of that source, where that of a stable one is `window`.
  Duration Window(const std::string& source, Duration window, Instant now) const;

  // What is to be known of a source after a restart; nothing if it is not worth it.
  std::optional<FlapMemory> Remember(const std::string& source, Moment now);
  // Sources that were remembered and have been quiet since: what was kept of them may go.
  std::vector<std::string> TakeForgotten(Instant now);
  // From an earlier process. False if all of it is too long ago.
  bool Recall(const FlapMemory& memory, Moment now);

 private:
  struct Source {
    std::deque<Instant> openings;  // of the last kFlapSpan, at most kOpeningsMax
    bool unstable = false;
    std::list<const std::string*>::iterator place;  // in order_
  };
  static constexpr size_t kOpeningsMax = 32;

  static size_t Recent(const Source& source, Instant now);

  Source& Latest(const std::string& source);

  std::map<std::string, Source> sources_;
  std::list<const std::string*> order_;  // their names, the one that opened last at the end
  std::map<std::string, Instant> kept_;  // until when what is kept of a source matters
};

}  // namespace sentinel
