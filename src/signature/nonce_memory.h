// The nonces of messages that were taken: none is taken twice. Pure.
//
// It is bounded, and what it has forgotten it never takes for new: everything stamped as early as
// what had to leave is refused with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

namespace sentinel {

constexpr size_t kNonceChars = 22;  // of base64url: 132 bits

class NonceMemory {
 public:
  explicit NonceMemory(size_t nonces_max) : nonces_max_(nonces_max) {}

  // True if it is new. `nonce` has kNonceChars.
  bool Take(int64_t stamp_ms, std::string_view nonce);
  // What is stamped before is refused from now on.
  void RefuseBefore(int64_t stamp_ms);

  size_t size() const { return taken_.size(); }

 private:
  size_t nonces_max_;
  int64_t floor_ms_ = std::numeric_limits<int64_t>::min();
  std::set<std::pair<int64_t, std::array<char, kNonceChars>>> taken_;  // the stamp is signed too
};

}  // namespace sentinel
