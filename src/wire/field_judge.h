// What a message of the agent stream may hold, field by field. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "wire/agent_stream_limits.h"

namespace sentinel {

// Takes fields over and remembers the first that is out of bounds.
class FieldJudge {
 public:
  template <typename E>
  E Enum(uint32_t value, E last, const char* field) {
    if (value > static_cast<uint32_t>(last)) Wrong(field);
    return static_cast<E>(std::min(value, static_cast<uint32_t>(last)));
  }
  int32_t Size(int32_t value, const char* field, int32_t max = INT32_MAX) {
    if (value < 0 || value > max) Wrong(field);
    return value;
  }
  const std::string& Text(const std::string& value, size_t max, const char* field) {
    if (value.size() > max) Wrong(field);
    return value;
  }
  Duration Age(uint64_t us, const char* field) {
    if (us > static_cast<uint64_t>(kAgeMax.count())) Wrong(field);
    return std::chrono::microseconds(std::min<uint64_t>(us, kAgeMax.count()));
  }
  void List(int size, size_t max, const char* field) {
    if (static_cast<size_t>(size) > max) Wrong(field);
  }
  void Wrong(const char* field) {
    if (wrong_ == nullptr) wrong_ = field;
  }

  template <typename T>
  Result<T> Settle(T value) const {
    if (wrong_ == nullptr) return Result<T>(std::move(value));
    return Error{ErrorCode::kCorrupt, std::string("agent stream: ") + wrong_ + " is out of bounds"};
  }

 private:
  const char* wrong_ = nullptr;
};

}  // namespace sentinel
