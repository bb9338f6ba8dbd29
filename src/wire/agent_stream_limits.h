// What one message of the agent stream may hold. Writing cuts to these, reading refuses beyond
// them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sentinel {

constexpr size_t kInventoryMembersMax = 4096;
constexpr size_t kInventoryJobsMax = 1024;
constexpr size_t kGpusMax = 64;
constexpr size_t kNameBytesMax = 1024;            // a host, a job, a communicator's name, …
constexpr size_t kDetailBytesMax = 4096;          // words in an Evidence
constexpr size_t kEventBodyBytesMax = 64 * 1024;  // as the ingest API takes it
constexpr int32_t kRanksMax = 1 << 24;
constexpr std::chrono::microseconds kAgeMax = std::chrono::hours(24 * 3650);

}  // namespace sentinel
