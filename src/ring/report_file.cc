#include "ring/report_file.h"

#include <fstream>

namespace sentinel {

std::FILE* ForPeople(const std::string& json_path, const std::string& events_path) {
  return json_path == kStandardOutput || events_path == kStandardOutput ? stderr : stdout;
}

Status WriteReportFile(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  if (path == kStandardOutput) {
    const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return written ? Status() : Error{ErrorCode::kIo, "standard output cannot be written"};
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return Error{ErrorCode::kIo, path + ": cannot be written"};
  return {};
}

}  // namespace sentinel
