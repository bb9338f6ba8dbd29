// The part of a sentence that fits a 16-pixel matrix: where to run. Rack, host, card and other
// Latin words and numbers are kept; hanzi are not drawn (the page and the voice have them), but the
// few phrases that give a number its meaning are put into signs: 第 3 号卡 is #3, 百分之 4 is 4%.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "floor/frame.h"

namespace sentinel {

// Characters; a longer text is cut, the place it names comes first in all our sentences.
constexpr size_t kMatrixTextMax = 96;

// Empty when nothing of it can be drawn.
std::string MatrixText(std::string_view sentence);

// A text as columns of pixels, moving leftwards through the matrix for ever.
class TextStrip {
 public:
  TextStrip() = default;
  explicit TextStrip(std::string_view text);

  bool empty() const { return columns_.empty(); }
  // Whether pixel (x, y) belongs to a letter, `since` the text came up. Its beginning stands still
  // long enough to be read, then it scrolls.
  bool At(int x, int y, Duration since) const;

 private:
  std::vector<uint8_t> columns_;  // bit 0 is the top row of the letters
};

constexpr int kTextTop = 4;  // the row of the letters' top
constexpr int kScrollPixelsPerSecond = 15;
constexpr Duration kScrollHold = std::chrono::milliseconds(700);

}  // namespace sentinel
