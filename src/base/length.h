// How long something is to last, as a person writes it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace sentinel {

constexpr Duration kLengthMax = std::chrono::hours(24 * 366);

// "90s", "15m", "2h", "1d", and these in a row: "1h30m". kInvalidArgument for anything else,
// nothing included, and for more than kLengthMax.
Result<Duration> ParseLength(std::string_view text);

// "1h30m"; what is less than a second is left out.
std::string FormatLength(Duration length);

}  // namespace sentinel
