// What a terminal and a gateway say to each other beside alarms, as JSON: a press of the button, a
// ping and its answer, the clock. Pure.
//
// All of it is read strictly (wire/strict_json.h), whoever it comes from: a press and a ping are
// signed, the answers of somebody else's lamp are not.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sentinel {

constexpr size_t kPressIncidentsMax = 1024;  // named by one press; beyond: refused
constexpr size_t kBootIdBytesMax = 64;       // printable ASCII without ' ', ',' and ';'
constexpr Duration kMutedForMax = std::chrono::hours(24);  // no mute is longer

// POST /api/v1/ack of a terminal.
struct PressBody {
  std::string terminal;
  std::optional<WallTime> pressed;     // by its own clock; none: it does not say
  std::vector<std::string> incidents;  // empty: whatever is open there
};
// kInvalidArgument with what is expected.
Result<PressBody> ParsePress(std::string_view body);

// POST /api/v1/ping of a gateway, and its answer to a press. Fields are added with time, so what is
// not understood, or is not what it should be, is passed over.
struct PingBody {
  std::optional<Duration> muted_for;  // 0: not at all; at most kMutedForMax
  bool hush = false;                  // only with a mute
};
PingBody ParsePing(std::string_view body);

// Its answer: which life of the terminal that is. kInvalidArgument if it does not say.
Result<std::string> ParsePong(std::string_view body);

// The answer to GET /api/v1/time.
struct TimeAnswer {
  std::chrono::milliseconds since_epoch{};  // of the years 1970 to 9999
  std::string boot_id;
};
Result<TimeAnswer> ParseTimeAnswer(std::string_view body);

}  // namespace sentinel
