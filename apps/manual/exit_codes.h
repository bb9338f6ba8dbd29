// What a program's exit code tells its caller: said once, shown by --help and in the manual.
#pragma once

#include <string>
#include <vector>

namespace sentinel {

struct ExitCode {
  int code = 0;
  std::string words;
};

inline std::string ExitFooter(const std::vector<ExitCode>& codes) {
  std::string text = "Exit codes:";
  for (const ExitCode& code : codes) text += "\n  " + std::to_string(code.code) + "  " + code.words;
  return text;
}

}  // namespace sentinel
