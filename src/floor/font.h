// The matrix's own letters: seven pixels high, at most five wide, ASCII only, capitals for both
// cases. Sixteen pixels hold two and a half of them, so a small letter would be too small anyway.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace sentinel {

constexpr int kGlyphHeight = 7;

struct Glyph {
  int width = 0;
  std::array<uint8_t, kGlyphHeight> rows{};  // from the top; bit 0 is the leftmost pixel
};

// Nothing for a character that has no drawing.
std::optional<Glyph> FindGlyph(char c);

}  // namespace sentinel
