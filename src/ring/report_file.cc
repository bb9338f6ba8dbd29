#include "ring/report_file.h"

#include <fstream>

namespace sentinel {

std::FILE* ForPeople(const std::string& json_path, const std::string& events_path) {
  return json_path == kStandardOutput || events_path == kStandardOutput ? stderr : stdout;
}

Status SayTo(std::FILE* people, const std::string& words) {
  if (std::fputs(words.c_str(), people) >= 0 && std::fflush(people) == 0) return {};
  return Error{ErrorCode::kIo, people == stdout ? "standard output cannot be written"
                                                : "standard error cannot be written"};
}

Status WriteReportFile(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  if (path == kStandardOutput) return SayTo(stdout, text);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return Error{ErrorCode::kIo, path + ": cannot be written"};
  return {};
}

}  // namespace sentinel
