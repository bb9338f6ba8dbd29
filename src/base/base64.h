// Base64 (RFC 4648, section 4): the alphabet with '+' and '/', padded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sentinel {

std::string Base64Encode(std::string_view bytes);
// Nothing for what is not whole groups of four, holds another character, or pads elsewhere than at
// its end.
std::optional<std::string> Base64Decode(std::string_view text);

}  // namespace sentinel
