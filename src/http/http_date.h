// The time a server says it is: the Date of its answers. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.h"

namespace sentinel {

// "Tue, 17 Aug 2026 08:30:00 GMT" (IMF-fixdate, the one form that is written today).
std::optional<WallTime> ParseHttpDate(std::string_view text);

}  // namespace sentinel
