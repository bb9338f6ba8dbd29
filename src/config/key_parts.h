// How deep the keys of a TOML text go, seen before it is parsed.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace sentinel {

// Of one key, as in a.b.c. toml++ descends a level of the stack for each, and has no bound of its
// own.
constexpr size_t kKeyPartsMax = 64;

// The line, from 1, on which a key has more, if one has. What stands in quotes or behind a '#' is
// no key; the text need not be well formed.
std::optional<size_t> LineOfTooLongKey(std::string_view text);

}  // namespace sentinel
