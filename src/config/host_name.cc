#include "config/host_name.h"

#include <algorithm>

namespace sentinel {

Result<std::string> HostName(const std::string& name) {
  const bool fits =
      !name.empty() && name.size() <= kHostNameBytesMax &&
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return c <= ' ' || c == 0x7f; });
  if (fits) return name;
  return Error{ErrorCode::kInvalidArgument, "1 to 253 bytes without blanks are expected"};
}

}  // namespace sentinel
