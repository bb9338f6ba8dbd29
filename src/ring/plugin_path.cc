#include "ring/plugin_path.h"

#include <cstdlib>
#include <filesystem>

namespace sentinel {

namespace fs = std::filesystem;

Result<std::string> FindPlugin(const std::string& asked) {
  std::error_code error;
  if (!asked.empty()) {
    if (!fs::exists(asked, error)) return Error{ErrorCode::kNotFound, asked + " does not exist"};
    // A name without a slash would be looked up on the loader's path instead.
    return fs::absolute(asked, error).string();
  }
  const fs::path home = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::string looked;
  for (const char* where : {".", "../plugin/nccl", "../../plugin/nccl", "../lib",
                            "../lib/gpu-sentinel", "../lib/x86_64-linux-gnu/gpu-sentinel"}) {
    const fs::path candidate = (home / where / kPluginFile).lexically_normal();
    if (fs::exists(candidate, error)) return candidate.string();
    looked += "\n  " + candidate.string();
  }
  const char* variable = std::getenv("NCCL_PROFILER_PLUGIN");
  if (variable != nullptr && *variable != '\0') return std::string(variable);
  return Error{ErrorCode::kNotFound, std::string("no ") + kPluginFile +
                                         " found; name it with --plugin. Looked for" + looked};
}

}  // namespace sentinel
