#include "config/key_parts.h"

#include <algorithm>

namespace sentinel {
namespace {

// Where what begins at `begin` with a quote is over: behind its last quote, or before the end of
// its line if it has no business beyond it.
size_t EndOfQuoted(std::string_view text, size_t begin) {
  const char quote = text[begin];
  const bool tall =
      text.substr(begin).starts_with(std::string_view(quote == '"' ? "\"\"\"" : "'''"));
  const std::string_view closing = text.substr(begin, tall ? 3 : 1);
  size_t at = begin + closing.size();
  while (at < text.size()) {
    if (text.substr(at).starts_with(closing)) return at + closing.size();
    if (text[at] == '\n' && !tall) return at;
    at += text[at] == '\\' && quote == '"' ? 2 : 1;
  }
  return text.size();
}

}  // namespace

std::optional<size_t> LineOfTooLongKey(std::string_view text) {
  const auto line_of = [text](size_t at) {
    return 1 + static_cast<size_t>(
                   std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n'));
  };
  size_t parts = 1;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = EndOfQuoted(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '.' && ++parts > kKeyPartsMax) return line_of(at);
    if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) parts = 1;
    ++at;
  }
  return std::nullopt;
}

}  // namespace sentinel
