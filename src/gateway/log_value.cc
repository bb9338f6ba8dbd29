#include "gateway/log_value.h"

namespace sentinel {

std::string LogValue(std::string_view text) {
  bool cut = text.size() > kLogValueBytesMax;
  if (cut) {
    size_t end = kLogValueBytesMax;
    // Back to where a character begins; bytes that are no UTF-8 have no such place to go back to.
    while (end > kLogValueBytesMax - 4 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
      --end;
    }
    text = text.substr(0, end);
  }
  bool quoted = text.empty();
  std::string value;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    quoted = quoted || c == ' ' || c == '=';
    value += byte < 0x20 || byte == 0x7f || c == '"' ? '?' : c;
  }
  if (cut) value += "...";
  return quoted ? '"' + value + '"' : value;
}

}  // namespace sentinel
