#include "ring/profiler_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

namespace sentinel {

void ProfilerLibrary::Close::operator()(void* handle) const { dlclose(handle); }

Result<ProfilerLibrary> ProfilerLibrary::Load(const std::string& path, int abi_max) {
  std::unique_ptr<void, Close> handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!handle) {
    const char* why = dlerror();
    return Error{ErrorCode::kUnavailable, why == nullptr ? path + " does not load" : why};
  }
  for (int abi = std::min(abi_max, kProfilerAbiNewest); abi >= kProfilerAbiOldest; --abi) {
    const std::string symbol = "ncclProfiler_v" + std::to_string(abi);
    if (const void* table = dlsym(handle.get(), symbol.c_str())) {
      return ProfilerLibrary(std::move(handle), abi,
                             static_cast<const nccl::ProfilerTable*>(table));
    }
  }
  return Error{ErrorCode::kNotFound, path + " exports no profiler interface from ncclProfiler_v" +
                                         std::to_string(kProfilerAbiOldest) + " to _v" +
                                         std::to_string(abi_max)};
}

}  // namespace sentinel
