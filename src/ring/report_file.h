// Where what sentinel-ring has to say goes: a report for programs, words for people.
#pragma once

#include <cstdio>
#include <string>

#include "base/result.h"

namespace sentinel {

// As a path: standard output.
inline constexpr const char* kStandardOutput = "-";

// Whoever reads a report or events from standard output wants nothing else there.
std::FILE* ForPeople(const std::string& json_path, const std::string& events_path);

// kIo: they did not get out, to a full disk or a reader that has gone.
Status SayTo(std::FILE* people, const std::string& words);

// Nowhere, if `path` is empty. kIo: it cannot be written. Called with no text before the work, it
// says so in time, and leaves no report of an earlier one.
Status WriteReportFile(const std::string& path, const std::string& text);

}  // namespace sentinel
