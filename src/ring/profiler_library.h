// A profiler plugin, loaded and chosen as NCCL does it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "ring/nccl_abi.h"

namespace sentinel {

constexpr int kProfilerAbiNewest = 6;
constexpr int kProfilerAbiOldest = 2;

class ProfilerLibrary {
 public:
  // Opens `path` and takes the newest interface it exports that is not newer than `abi_max` (what
  // an NCCL of that age would speak).
  static Result<ProfilerLibrary> Load(const std::string& path, int abi_max = kProfilerAbiNewest);

  int abi() const { return abi_; }
  const nccl::ProfilerTable& table() const { return *table_; }

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  ProfilerLibrary(std::unique_ptr<void, Close> handle, int abi, const nccl::ProfilerTable* table)
      : handle_(std::move(handle)), abi_(abi), table_(table) {}

  std::unique_ptr<void, Close> handle_;
  int abi_;
  const nccl::ProfilerTable* table_;  // lives as long as the library is open
};

}  // namespace sentinel
