#include "web/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace sentinel {

namespace {

// Characters of one byte that stand in a string as they are.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (size_t byte = 0x20; byte < 0x80; ++byte) plain[byte] = byte != '"' && byte != '\\';
  return plain;
}();

}  // namespace

JsonWriter& JsonWriter::Text(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  Separate();
  out_ += '"';
  size_t written = 0;  // what lies between it and `at` is written as it is, in one piece
  for (size_t at = 0; at < text.size();) {
    auto byte = static_cast<unsigned char>(text[at]);
    if (kPlain[byte]) {
      ++at;
      continue;
    }
    const size_t length = Utf8CharacterBytes(text.substr(at));
    if (length > 1) {
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
