#include "base/time.h"

#include <cstdio>
#include <ctime>

namespace sentinel {

std::string FormatRfc3339(WallTime time) {
  int64_t millis = time.since_epoch.count();
  std::time_t seconds = millis / 1000;
  int64_t rest = millis % 1000;
  if (rest < 0) {
    rest += 1000;
    seconds -= 1;
  }
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[48];
  size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(rest));
  return text;
}

}  // namespace sentinel
