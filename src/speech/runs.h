// A sentence cut into runs that one voice each can read. Pure.
//
// Debian's espeak-ng reads hanzi only with its pinyin voice, and that voice mangles Latin words; so
// hanzi and numbers go to the Mandarin voice and Latin words to the English one, after what is
// written for the eye (node-17, 10.0.3.7, NVLink) has been turned into what is said.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sentinel {

enum class Voice : uint8_t { kMandarin, kEnglish };

struct SpeechRun {
  Voice voice = Voice::kMandarin;
  std::string text;
  friend bool operator==(const SpeechRun&, const SpeechRun&) = default;
};

constexpr size_t kRunsMax = 64;  // of one sentence; the rest stays unspoken

// A sentence with at least one hanzi is Mandarin with Latin words in it; any other is English. What
// no voice can read (control characters, markup, emoji, a cut character) is left out. Identifiers
// (letters and digits grown together) have their digits read one by one; a number standing alone is
// read as a number, unless it begins with 0 or is longer than four digits.
std::vector<SpeechRun> SplitRuns(std::string_view sentence);

// The runs as one line for a person: what is really spoken.
std::string SpokenText(const std::vector<SpeechRun>& runs);

}  // namespace sentinel
