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

// Nowhere, if `path` is empty. kIo: it cannot be written.
Status WriteReportFile(const std::string& path, const std::string& text);

}  // namespace sentinel
