// Where a character of foreign text ends, if it is one.
#pragma once

#include <cstddef>
#include <string_view>

namespace sentinel {

// How many bytes of `text`, which is not empty, make the well-formed UTF-8 character it begins
// with; 0 if it begins with none: a stray or missing byte, too long a form, a surrogate, or beyond
// the last character there is.
inline size_t Utf8CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool beyond = (lead == 0xED && byte(1) >= 0xA0) || (lead == 0xF4 && byte(1) >= 0x90);
  return overlong || beyond ? 0 : size;
}

}  // namespace sentinel
