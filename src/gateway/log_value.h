// What others wrote, fit for a key=value line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sentinel {

// Bytes of a sender's string in a log line; what is longer is cut, never inside a character, and
// ends in "...".
constexpr size_t kLogValueBytesMax = 96;

// Without control characters and double quotes; in quotes of its own where a blank or '=' in it
// would make two values of one.
std::string LogValue(std::string_view text);

}  // namespace sentinel
