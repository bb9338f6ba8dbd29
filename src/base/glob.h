// Names with holes in them: `*` is any run of characters, `?` one character.
#pragma once

#include <string_view>

namespace sentinel {

// True if all of `text` fits. A pattern without `*` and `?` fits itself alone.
bool FitsGlob(std::string_view pattern, std::string_view text);

}  // namespace sentinel
