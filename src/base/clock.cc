#include "base/clock.h"

#include <cstdlib>
#include <ctime>
#include <fstream>

namespace sentinel {

Instant MonotonicNow() {
  return {
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

WallTime WallNow() {
  return {std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch())};
}

std::string BootId() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

void UseTimeZone(const std::string& zone) {
  setenv("TZ", (":" + zone).c_str(), 1);
  tzset();
}

std::chrono::seconds CivilOffset(WallTime at) {
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(at.since_epoch).count();
  std::tm civil{};
  localtime_r(&seconds, &civil);
  return std::chrono::seconds(civil.tm_gmtoff);
}

}  // namespace sentinel
