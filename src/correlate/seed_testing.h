// The seed of what tests draw by chance.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace sentinel {

// SENTINEL_SEED, which a run that failed has printed; otherwise always the same.
inline uint64_t Seed() {
  const char* given = std::getenv("SENTINEL_SEED");
  return given == nullptr ? 20261130 : std::strtoull(given, nullptr, 10);
}

}  // namespace sentinel
