#include "incident/speech_text.h"

#include <cstdint>
#include <optional>

namespace sentinel {
namespace {

constexpr char32_t kBroken = 0xFFFFFFFF;

// Decodes the character at `*at` and moves past it; kBroken moves past one byte.
char32_t NextCharacter(std::string_view text, size_t* at) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(*at);
  size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 0 || first > 0xF4 || *at + length > text.size()) {
    ++*at;
    return kBroken;
  }
  char32_t value = length == 1 ? first : first & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    unsigned char next = byte(*at + i);
    if ((next & 0xC0) != 0x80) {
      ++*at;
      return kBroken;
    }
    value = (value << 6) | (next & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
    ++*at;
    return kBroken;
  }
  *at += length;
  return value;
}

bool IsUnspeakable(char32_t c) {
  auto in = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  return c == kBroken || c < 0x20 || in(0x7F, 0x9F) || c == 0xAD || c == 0x61C ||
         in(0x200B, 0x200F) || in(0x2028, 0x202E) || in(0x2060, 0x206F) || c == 0xFEFF ||
         in(0xFFF0, 0xFFFF) || in(0xE0000, 0xE0FFF);
}

// What most names consist of: it is said as it is written.
bool IsPlain(char c) { return c > ' ' && c < 0x7F && c != '[' && c != ']'; }

// Where a "-" and 8 to 10 of [a-f0-9] at the end begin; nothing if the name does not end so.
std::optional<size_t> SuffixStart(std::string_view host) {
  size_t dash = host.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  std::string_view suffix = host.substr(dash + 1);
  if (suffix.size() < 8 || suffix.size() > 10) return std::nullopt;
  if (suffix.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
  return dash;
}

const std::string* FieldByName(const SpeechFields& fields, std::string_view name) {
  if (name == "rack") return &fields.rack;
  if (name == "host") return &fields.host;
  if (name == "gpu") return &fields.gpu;
  if (name == "util") return &fields.util;
  if (name == "type") return &fields.type;
  if (name == "job") return &fields.job;
  if (name == "suspects") return &fields.suspects;
  return nullptr;
}

}  // namespace

std::string Sanitise(std::string_view text, size_t max) {
  std::string out;
  size_t characters = 0;
  for (size_t at = 0; at < text.size() && characters < max;) {
    size_t start = at;
    while (at < text.size() && at - start < max - characters && IsPlain(text[at])) ++at;
    if (at > start) {
      out.append(text, start, at - start);
      characters += at - start;
      continue;
    }
    char32_t c = NextCharacter(text, &at);
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
    if (IsUnspeakable(c)) continue;
    if (c == ' ' && (out.empty() || out.back() == ' ')) continue;
    if (c == '[') {
      out += '(';
    } else if (c == ']') {
      out += ')';
    } else if (c == ' ') {
      out += ' ';
    } else {
      out += text.substr(start, at - start);
    }
    ++characters;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string SpokenRack(std::string_view rack) {
  constexpr std::string_view kPrefix = "机架";
  std::string clean = Sanitise(rack, kSpokenFieldMax);
  if (std::string_view(clean).starts_with(kPrefix)) clean.erase(0, kPrefix.size());
  size_t start = clean.find_first_not_of(' ');
  return start == std::string::npos ? "" : clean.substr(start);
}

std::string CleanHost(std::string_view host) {
  if (std::optional<size_t> start = SuffixStart(host)) host = host.substr(0, *start);
  return Sanitise(host, kSpokenHostMax);
}

std::string IdentityHost(std::string_view host) {
  std::optional<size_t> start = SuffixStart(host);
  if (!start) return std::string(host);
  std::string_view suffix = host.substr(*start + 1);
  bool letter = suffix.find_first_of("abcdef") != std::string_view::npos;
  bool digit = suffix.find_first_of("0123456789") != std::string_view::npos;
  return std::string(letter && digit ? host.substr(0, *start) : host);
}

std::string FillIn(std::string_view text_template, const SpeechFields& fields) {
  std::string out;
  std::optional<size_t> optional_start;  // in `out`
  bool optional_known = true;
  for (size_t at = 0; at < text_template.size(); ++at) {
    char c = text_template[at];
    if (c == '[') {
      optional_start = out.size();
      optional_known = true;
    } else if (c == ']' && optional_start) {
      if (!optional_known) out.resize(*optional_start);
      optional_start.reset();
    } else if (c == '{') {
      size_t end = text_template.find('}', at);
      if (end == std::string_view::npos) break;
      const std::string* field = FieldByName(fields, text_template.substr(at + 1, end - at - 1));
      if (field == nullptr || field->empty()) {
        optional_known = false;
      } else {
        out += *field;
      }
      at = end;
    } else {
      out += c;
    }
  }
  return out;
}

Status CheckTemplate(std::string_view text_template) {
  auto wrong = [](const std::string& what) { return Error{ErrorCode::kInvalidArgument, what}; };
  if (text_template.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return wrong("a sentence is expected, which the lamp shows and the voice says");
  }
  if (text_template.size() > kTemplateBytesMax) {
    return wrong("a sentence of at most " + std::to_string(kTemplateBytesMax) +
                 " bytes is expected, this one has " + std::to_string(text_template.size()));
  }
  bool in_brackets = false;
  for (size_t at = 0; at < text_template.size(); ++at) {
    char c = text_template[at];
    if (c == '[' || c == ']') {
      if (in_brackets == (c == '[')) {
        return wrong(std::string("'") + c + "' at byte " + std::to_string(at + 1) +
                     (c == '[' ? " stands in another [ ]" : " has no '[' before it"));
      }
      in_brackets = c == '[';
    } else if (c == '}') {
      return wrong("'}' at byte " + std::to_string(at + 1) + " has no '{' before it");
    } else if (c == '{') {
      size_t end = text_template.find_first_of("{}", at + 1);
      if (end == std::string_view::npos || text_template[end] == '{') {
        return wrong("'{' at byte " + std::to_string(at + 1) + " is not closed");
      }
      std::string name(text_template.substr(at + 1, end - at - 1));
      if (FieldByName(SpeechFields(), name) == nullptr) {
        return wrong("there is no field {" + name +
                     "}; there are {rack} {host} {gpu} {util} {type} {job} {suspects}");
      }
      at = end;
    }
  }
  if (in_brackets) return wrong("a '[' is not closed");
  return {};
}

}  // namespace sentinel
