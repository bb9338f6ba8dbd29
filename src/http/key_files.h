// The key files and folders a daemon works with, read again when it is told to.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "http/key_file.h"

namespace sentinel {

class KeyFiles {
 public:
  explicit KeyFiles(SampleKey sample) : sample_(sample) {}

  // The same path is the same ring.
  Result<KeyRing> Open(const std::string& path);

  // Rings that were opened hold what the files say now. Where one cannot be read all stay as they
  // are, and that is returned.
  Status Reload();

 private:
  SampleKey sample_;
  std::map<std::string, KeyRing> rings_;
};

}  // namespace sentinel
