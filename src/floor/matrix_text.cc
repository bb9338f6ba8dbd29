#include "floor/matrix_text.h"

#include "floor/font.h"

namespace sentinel {
namespace {

size_t SequenceLength(char lead) {
  auto byte = static_cast<unsigned char>(lead);
  if (byte >= 0xF0) return 4;
  if (byte >= 0xE0) return 3;
  if (byte >= 0xC0) return 2;
  return 1;
}

bool TakePrefix(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

void Space(std::string* out) {
  if (!out->empty() && out->back() != ' ' && out->back() != '#') out->push_back(' ');
}

// "3、5" after 第: one sign before each number.
void TakeCards(std::string_view* text, std::string* out) {
  Space(out);
  out->push_back('#');
  while (!text->empty()) {
    if (TakePrefix(text, "、") || TakePrefix(text, ",")) {
      out->append(" #");
    } else if (text->front() >= '0' && text->front() <= '9') {
      out->push_back(text->front());
      text->remove_prefix(1);
    } else if (text->front() == ' ') {
      text->remove_prefix(1);
    } else {
      break;
    }
  }
  TakePrefix(text, "号卡");
  if (out->back() == '#') out->pop_back();
  Space(out);
}

void TakePercent(std::string_view* text, std::string* out) {
  Space(out);
  TakePrefix(text, " ");
  size_t digits = 0;
  while (!text->empty() &&
         ((text->front() >= '0' && text->front() <= '9') || text->front() == '.')) {
    out->push_back(text->front());
    text->remove_prefix(1);
    digits++;
  }
  if (digits > 0) out->push_back('%');
}

}  // namespace

std::string MatrixText(std::string_view sentence) {
  std::string out;
  while (!sentence.empty() && out.size() < kMatrixTextMax) {
    if (TakePrefix(&sentence, "第")) {
      TakeCards(&sentence, &out);
    } else if (TakePrefix(&sentence, "百分之")) {
      TakePercent(&sentence, &out);
    } else if (FindGlyph(sentence.front()) && sentence.front() != ' ') {
      out.push_back(sentence.front());
      sentence.remove_prefix(1);
    } else {
      Space(&out);
      sentence.remove_prefix(std::min(SequenceLength(sentence.front()), sentence.size()));
    }
  }
  // A card or a percentage of many digits is taken whole.
  if (out.size() > kMatrixTextMax) out.resize(kMatrixTextMax);
  while (!out.empty() && out.back() == ' ') out.pop_back();
  bool says_something = false;
  for (char c : out) {
    says_something = says_something || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                     (c >= 'a' && c <= 'z');
  }
  return says_something ? out : std::string();
}

TextStrip::TextStrip(std::string_view text) {
  for (char c : text) {
    std::optional<Glyph> glyph = FindGlyph(c);
    if (!glyph) continue;
    for (int x = 0; x < glyph->width; x++) {
      uint8_t column = 0;
      for (int y = 0; y < kGlyphHeight; y++) {
        if ((glyph->rows[static_cast<size_t>(y)] >> x) & 1) {
          column |= static_cast<uint8_t>(1 << y);
        }
      }
      columns_.push_back(column);
    }
    columns_.push_back(0);
  }
}

bool TextStrip::At(int x, int y, Duration since) const {
  if (columns_.empty() || y < kTextTop || y >= kTextTop + kGlyphHeight) return false;
  auto width = static_cast<int64_t>(columns_.size());
  int64_t shift = 0;
  if (width > kFrameWidth) {
    // One round: the beginning stands, the strip leaves to the left, a matrix's width follows dark.
    Duration pixel = Duration(std::chrono::seconds(1)) / kScrollPixelsPerSecond;
    int64_t hold = kScrollHold / pixel;
    int64_t step = (since / pixel) % (hold + width + kFrameWidth);
    shift = step < hold ? 0 : step - hold;
    // In the second part of the round the text comes in again from the right.
    if (shift > width) shift -= width + kFrameWidth;
  }
  int64_t column = x + shift;
  if (column < 0 || column >= width) return false;
  return (columns_[static_cast<size_t>(column)] >> (y - kTextTop)) & 1;
}

}  // namespace sentinel
