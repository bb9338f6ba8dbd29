#include "ring/live/command_input.h"

#include <poll.h>
#include <unistd.h>

namespace sentinel {

std::vector<std::string> CommandInput::Lines() {
  std::vector<std::string> lines;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (!ended_ && poll(&input, 1, 0) > 0) {
    char bytes[kLineBytesMax];
    const ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got <= 0) {
      ended_ = true;
      break;
    }
    for (ssize_t i = 0; i < got; ++i) {
      if (bytes[i] == '\n') {
        lines.push_back(begun_);
        begun_.clear();
      } else if (begun_.size() < kLineBytesMax) {
        begun_ += bytes[i];
      }
    }
  }
  return lines;
}

}  // namespace sentinel
