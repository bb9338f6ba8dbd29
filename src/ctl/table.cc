#include "ctl/table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sentinel {
namespace {

constexpr size_t kGap = 2;

const char* CodeOf(Paint paint) {
  switch (paint) {
    case Paint::kNone:
      return "";
    case Paint::kRed:
      return "\033[31;1m";
    case Paint::kYellow:
      return "\033[33m";
    case Paint::kGreen:
      return "\033[32m";
    case Paint::kDim:
      return "\033[2m";
  }
  return "";
}

// The code point at the front, which is taken off; a broken sequence is one byte.
char32_t Next(std::string_view* text) {
  const auto first = static_cast<unsigned char>(text->front());
  const size_t length = first < 0x80    ? 1
                        : first >= 0xf0 ? 4
                        : first >= 0xe0 ? 3
                        : first >= 0xc0 ? 2
                                        : 1;
  char32_t code = length == 1 ? first : first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length && i < text->size(); ++i) {
    code = code << 6 | (static_cast<unsigned char>((*text)[i]) & 0x3f);
  }
  text->remove_prefix(std::min(length, text->size()));
  return code;
}

// Unicode's East Asian wide and full-width ranges, as far as they occur in names and sentences.
bool IsWide(char32_t code) {
  return (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
         (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
         (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
         (code >= 0xffe0 && code <= 0xffe6) || (code >= 0x20000 && code <= 0x3fffd);
}

bool IsMark(char32_t code) {
  return (code >= 0x300 && code <= 0x36f) || (code >= 0x200b && code <= 0x200f);
}

// Without what drives a terminal: C0, DEL, and C1, which in UTF-8 is two bytes.
void Harmless(std::string* text) {
  size_t size = 0;
  for (size_t i = 0; i < text->size(); ++i) {
    const auto byte = static_cast<unsigned char>((*text)[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text->size() ? (*text)[i + 1] : 0);
    const bool c1 = byte == 0xc2 && next >= 0x80 && next < 0xa0;
    (*text)[size++] = c1 || byte < 0x20 || byte == 0x7f ? '?' : (*text)[i];
    if (c1) ++i;
  }
  text->resize(size);
}

}  // namespace

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const char32_t code = Next(&text);
    if (!IsMark(code)) width += IsWide(code) ? 2 : 1;
  }
  return width;
}

std::string Painted(std::string text, Paint paint, bool colour) {
  Harmless(&text);
  if (!colour || paint == Paint::kNone) return text;
  return CodeOf(paint) + text + "\033[0m";
}

Table::Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}

void Table::Add(std::vector<Cell> row) {
  CHECK(row.size() == headings_.size());
  rows_.push_back(std::move(row));
}

std::string Table::Print(bool colour, std::string_view nothing) const {
  if (rows_.empty()) return std::string(nothing) + '\n';
  std::vector<size_t> widths;
  for (size_t i = 0; i < headings_.size(); ++i) {
    size_t width = DisplayWidth(headings_[i]);
    for (const std::vector<Cell>& row : rows_) width = std::max(width, DisplayWidth(row[i].text));
    widths.push_back(width);
  }
  std::string out;
  auto line = [&](const std::vector<Cell>& row) {
    for (size_t i = 0; i < row.size(); ++i) {
      out += Painted(row[i].text, row[i].paint, colour);
      if (i + 1 < row.size()) out.append(widths[i] - DisplayWidth(row[i].text) + kGap, ' ');
    }
    out += '\n';
  };
  std::vector<Cell> headings;
  for (const std::string& heading : headings_) headings.push_back({heading, Paint::kDim});
  line(headings);
  for (const std::vector<Cell>& row : rows_) line(row);
  return out;
}

}  // namespace sentinel
