#include "web/query.h"

#include <charconv>
#include <string>

namespace sentinel {

Result<bool> ShowsClosed(std::string_view query) {
  if (query.empty() || query == "state=all") return true;
  if (query == "state=open") return false;
  return Error{ErrorCode::kInvalidArgument, "state=open or state=all is expected"};
}

Result<size_t> AuditLines(std::string_view query) {
  if (query.empty()) return kAuditShown;
  constexpr std::string_view kPrefix = "max=";
  size_t max = 0;
  if (query.starts_with(kPrefix)) {
    const char* end = query.data() + query.size();
    const auto [stop, error] = std::from_chars(query.data() + kPrefix.size(), end, max);
    if (error == std::errc() && stop == end && max >= 1 && max <= kAuditShownMax) return max;
  }
  return Error{ErrorCode::kInvalidArgument,
               "max=N with N from 1 to " + std::to_string(kAuditShownMax) + " is expected"};
}

}  // namespace sentinel
