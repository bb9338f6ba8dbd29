// Lines from standard input, as they come, without waiting.
#pragma once

#include <string>
#include <vector>

namespace sentinel {

class CommandInput {
 public:
  static constexpr size_t kLineBytesMax = 256;  // a longer one is cut there

  // The whole lines that have come since.
  std::vector<std::string> Lines();
  bool ended() const { return ended_; }

 private:
  std::string begun_;
  bool ended_ = false;
};

}  // namespace sentinel
