#include "http/server_context.h"

#include <ctime>

#include "base/clock.h"

namespace sentinel {

std::string_view ServerContext::Date() {
  int64_t second = std::chrono::duration_cast<std::chrono::seconds>(WallNow().since_epoch).count();
  if (second != date_second_) {
    date_second_ = second;
    std::time_t time = second;
    std::tm utc{};
    gmtime_r(&time, &utc);
    char text[64];
    date_.assign(text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc));
  }
  return date_;
}

}  // namespace sentinel
