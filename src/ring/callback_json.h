// One line of a rank's recording. Pure; the line is foreign.
#pragma once

#include <string_view>

#include "base/result.h"
#include "ring/recording.h"

namespace sentinel {

// Parses `line` and appends it to `into` (interning thread and names there). kCorrupt says what is
// wrong with the line; `into` is then as before but for names.
Status AppendCallback(std::string_view line, RankRecording& into);

}  // namespace sentinel
