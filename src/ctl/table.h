// Rows for a person at a terminal: columns as wide as what stands in them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sentinel {

enum class Paint : uint8_t { kNone, kRed, kYellow, kGreen, kDim };

struct Cell {
  std::string text;
  Paint paint = Paint::kNone;
};

class Table {
 public:
  explicit Table(std::vector<std::string> headings);

  // As many cells as there are headings. Control characters are shown as '?': what a host calls
  // itself must not move somebody's cursor.
  void Add(std::vector<Cell> row);

  // With a line for the headings; without rows `nothing` alone. The last column is not padded.
  std::string Print(bool colour, std::string_view nothing) const;

 private:
  std::vector<std::string> headings_;
  std::vector<std::vector<Cell>> rows_;
};

// The same text without what would move a cursor, in colour if asked.
std::string Painted(std::string text, Paint paint, bool colour);

// How many columns of a terminal UTF-8 text takes: two for a hanzi and its like, none for marks
// that combine.
size_t DisplayWidth(std::string_view text);

}  // namespace sentinel
