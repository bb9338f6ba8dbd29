#include "config/config_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sentinel {
namespace {

TEST(ConfigFile, IsReadAsItStandsOrItIsSaidWhyNot) {
  const std::string path = testing::TempDir() + "sentinel-config-file-test.toml";
  std::ofstream(path) << "a = 1\n";
  EXPECT_EQ(*ReadConfigFile(path), "a = 1\n");
  std::ofstream(path) << std::string(kConfigBytesMax + 1, '#');
  EXPECT_EQ(ReadConfigFile(path).error().code, ErrorCode::kInvalidArgument);
  std::filesystem::remove(path);
  const Result<std::string> gone = ReadConfigFile(path);
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(gone.error().message, path + ": cannot be read: No such file or directory");
  EXPECT_EQ(ReadConfigFile("/").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace sentinel
