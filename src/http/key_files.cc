#include "http/key_files.h"

#include <utility>
#include <vector>

namespace sentinel {

Result<KeyRing> KeyFiles::Open(const std::string& path) {
  auto known = rings_.find(path);
  if (known != rings_.end()) return known->second;
  KeyRing ring(TRY(LoadKeys(path, sample_)));
  rings_[path] = ring;
  return ring;
}

Status KeyFiles::Reload() {
  std::map<std::string, std::vector<KeyPair>> read;
  for (const auto& [path, ring] : rings_) read[path] = TRY(LoadKeys(path, sample_));
  for (auto& [path, ring] : rings_) ring.Replace(std::move(read[path]));
  return {};
}

}  // namespace sentinel
