// What tests of the floor share: a first moment, and colours.
#pragma once

#include <chrono>

#include "base/time.h"
#include "model/terminal_message.h"

namespace sentinel {

inline constexpr Instant kStart{std::chrono::seconds(1000)};
inline constexpr Color kRed{255, 0, 0};

}  // namespace sentinel
