// CHECK: for what can only be false if we are wrong. It stays on in release builds; the service
// manager restarts us and the store recovers. What the world may do wrong (a peer, a disk, a user)
// is a Result, never a CHECK.
#pragma once

namespace sentinel {

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace sentinel

#define CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::sentinel::CheckFailed(#condition, __FILE__, __LINE__))
