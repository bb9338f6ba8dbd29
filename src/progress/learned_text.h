// What was learned as text, and back. The format is docs/formats/agent-memory.md.
//
// Pure. What is read is not believed: whatever it says, reading ends, allocates in proportion to
// it, and gives values that a writer could have written, or an error that says where.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "progress/learned.h"

namespace sentinel {

constexpr size_t kLearnedBytesMax = 1 << 20;
constexpr size_t kLearnedProcessesMax = 256;

// At most kLearnedProcessesMax processes in at most `bytes_max` bytes: the ones not seen for
// longest are left out first, and counted in `left_out`.
std::string WriteLearned(const Learned& learned, size_t* left_out,
                         size_t bytes_max = kLearnedBytesMax);

// kCorrupt for anything else than the whole of what WriteLearned gave.
Result<Learned> ReadLearned(std::string_view text);

}  // namespace sentinel
