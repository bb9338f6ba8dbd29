#include "web/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>

namespace sentinel {
namespace {

// How long the UTF-8 sequence that begins at `at` is; 0: it is none.
size_t SequenceAt(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(at);
  size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 0 || first > 0xF4 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  if (length < 3) return length;
  unsigned char second = byte(at + 1);
  // Too long a form, a surrogate, or beyond the last character.
  bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
               (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return wrong ? 0 : length;
}

}  // namespace

JsonWriter& JsonWriter::Text(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  Separate();
  out_ += '"';
  size_t written = 0;  // what lies between it and `at` is written as it is, in one piece
  for (size_t at = 0; at < text.size();) {
    auto byte = static_cast<unsigned char>(text[at]);
    const size_t length = byte < 0x80 ? 1 : SequenceAt(text, at);
    const bool as_it_is = length > 0 && byte >= 0x20 && byte != '"' && byte != '\\';
    if (as_it_is) {
      at += length;
      continue;
    }
    out_.append(text, written, at - written);
    if (length == 0) {
      out_ += '?';
    } else if (byte < 0x20) {
      out_ += "\\u00";
      out_ += kDigits[byte >> 4];
      out_ += kDigits[byte & 15];
    } else {
      out_ += '\\';
      out_ += text[at];
    }
    written = ++at;
  }
  out_.append(text, written);
  out_ += '"';
  return *this;
}

JsonWriter& JsonWriter::Number(int64_t number) {
  Separate();
  std::array<char, 24> text{};
  auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  out_.append(text.data(), end);
  return *this;
}

JsonWriter& JsonWriter::Unsigned(uint64_t number) {
  Separate();
  std::array<char, 24> text{};
  auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  out_.append(text.data(), end);
  return *this;
}

JsonWriter& JsonWriter::Real(double number) {
  if (!std::isfinite(number)) return Null();
  Separate();
  std::array<char, 32> text{};
  auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  out_.append(text.data(), end);
  return *this;
}

JsonWriter& JsonWriter::Null() {
  Separate();
  out_ += "null";
  return *this;
}

}  // namespace sentinel
