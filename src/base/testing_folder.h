// A fresh folder that goes with whoever made it, for tests.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/check.h"

namespace sentinel {

class TestingFolder {
 public:
  TestingFolder() {
    std::string name = std::filesystem::temp_directory_path() / "gpu-sentinel-test.XXXXXX";
    CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TestingFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestingFolder(const TestingFolder&) = delete;
  TestingFolder& operator=(const TestingFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace sentinel
