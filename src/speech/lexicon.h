// How the field's own words are said.
#pragma once

#include <optional>
#include <string_view>

#include "speech/runs.h"

namespace sentinel {

// A whole word, letters and digits, in any case, within a sentence of `language`. Nothing for words
// that are read as they are written.
std::optional<SpeechRun> LexiconEntry(std::string_view word, Voice language);

// Whether an English voice can say it as a word: other Latin letters are spelt.
bool Pronounceable(std::string_view word);

}  // namespace sentinel
