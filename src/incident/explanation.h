// What an event would do, and why: the answer to somebody who wonders about levels and routes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/incident.h"
#include "model/severity.h"

namespace sentinel {

struct Explanation {
  std::string event_type;
  Severity severity = Severity::kNotice;
  std::string severity_why;
  std::string incident;  // the open one it belongs to; empty: it would begin one, or concerns none
  bool suppressed = false;  // no terminal would be told
  std::string what;         // what would become of it: "begins an incident", "is counted" …
  std::string identity;     // by which it is the same incident; empty for an end
  Duration window{0};       // so long after a terminal has heard of it, it is not told again
  std::optional<Quieting> quiet;
  std::string text;  // as shown and spoken; empty for an end
  struct Terminal {
    std::string name;
    std::string why;          // which route chose it, or the host's own list
    bool light = false;       // it would be told
    bool voice = false;       // and would speak at once
    Duration window_left{0};  // of an announcement there
    std::string voice_why;    // where it would not as loud as its level asks: why
  };
  std::vector<Terminal> terminals;  // those that would show it; empty where none would be told
};

}  // namespace sentinel
