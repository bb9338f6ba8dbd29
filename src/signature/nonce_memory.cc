#include "signature/nonce_memory.h"

#include <algorithm>

#include "base/check.h"

namespace sentinel {

bool NonceMemory::Take(int64_t stamp_ms, std::string_view nonce) {
  CHECK(nonce.size() == kNonceChars);
  if (stamp_ms < floor_ms_) return false;
  std::pair<int64_t, std::array<char, kNonceChars>> entry;
  entry.first = stamp_ms;
  std::copy(nonce.begin(), nonce.end(), entry.second.begin());
  if (!taken_.insert(entry).second) return false;
  if (taken_.size() > nonces_max_) RefuseBefore(taken_.begin()->first + 1);
  return true;
}

void NonceMemory::RefuseBefore(int64_t stamp_ms) {
  floor_ms_ = std::max(floor_ms_, stamp_ms);
  while (!taken_.empty() && taken_.begin()->first < floor_ms_) taken_.erase(taken_.begin());
}

}  // namespace sentinel
