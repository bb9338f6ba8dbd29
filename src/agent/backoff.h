// How long to wait before the next try: doubling, with chance so that a thousand agents do not come
// back at once. Pure; the seed makes it repeatable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "base/time.h"

namespace sentinel {

class Backoff {
 public:
  static constexpr Duration kFirst = std::chrono::milliseconds(200);
  static constexpr Duration kMax = std::chrono::seconds(30);

  explicit Backoff(uint64_t seed) : random_(seed) {}

  // Between half and all of 0.2, 0.4, … 30 s.
  Duration Next() {
    const Duration whole = next_;
    next_ = std::min<Duration>(next_ * 2, kMax);
    std::uniform_int_distribution<int64_t> part(whole.count() / 2, whole.count());
    return Duration(part(random_));
  }
  void Reset() { next_ = kFirst; }

 private:
  Duration next_ = kFirst;
  std::mt19937_64 random_;
};

}  // namespace sentinel
