// What is kept of sources that come and go, as it lies in the store (docs/formats/store.md). Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/flap.h"

namespace sentinel {

std::string WriteFlapNote(const FlapMemory& memory);
// kCorrupt for what is no such note.
Result<FlapMemory> ParseFlapNote(std::string_view note);

}  // namespace sentinel
