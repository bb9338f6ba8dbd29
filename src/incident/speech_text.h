// Sentences for people: names made fit for speech, and templates filled in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sentinel {

constexpr size_t kSpokenHostMax = 25;   // characters, not bytes
constexpr size_t kSpokenFieldMax = 96;  // characters of any other field
constexpr size_t kSpokenSuspectsMax = 3;

// Without control, bidirectional and invisible characters and broken UTF-8; square brackets, which
// speech chips take for commands, become round ones; runs of blanks become one. Cut to `max`
// characters, never inside one.
std::string Sanitise(std::string_view text, size_t max);

// A rack as it is spoken: without a leading 机架.
std::string SpokenRack(std::string_view rack);

// The clean name: one generated suffix ("-" and 8 to 10 of [a-f0-9] at the end) dropped, cut to 25
// characters.
std::string CleanHost(std::string_view host);

// The name a host is *known* by: as CleanHost, but uncut, and a suffix counts as generated only if
// it holds a letter and a digit.
std::string IdentityHost(std::string_view host);

// An empty field is one that is not known.
struct SpeechFields {
  std::string rack;
  std::string host;
  std::string gpu;
  std::string util;
  std::string type;
  std::string job;
  std::string suspects;
};

// Fills {field}s in; [ ] and what is in it go when a field in it is empty.
std::string FillIn(std::string_view text_template, const SpeechFields& fields);

// Of a template. Nobody listens to more, and a terminal takes no message of more than 64 KiB: one
// that grew beyond that would be refused by every lamp, each time.
constexpr size_t kTemplateBytesMax = 1024;

// kInvalidArgument, in words, for a template that says nothing, that is longer than
// kTemplateBytesMax, with a field that there is not, or with a brace or bracket that has no other.
Status CheckTemplate(std::string_view text_template);

}  // namespace sentinel
