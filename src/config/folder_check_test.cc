#include "config/folder_check.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/testing_folder.h"

namespace sentinel {
namespace {

TEST(FolderCheck, AFolderLiesInAnother) {
  EXPECT_EQ(FolderOf("/a/b"), "/a");
  EXPECT_EQ(FolderOf("/a/b//"), "/a");
  EXPECT_EQ(FolderOf("/a"), "/");
  EXPECT_EQ(FolderOf("a"), ".");
}

TEST(FolderCheck, WhatIsThereOrCanBeMadeIsWritableAndLookingMakesNothing) {
  const TestingFolder made;
  const std::string root = made.path().string();
  std::ofstream(root + "/file") << "x";
  EXPECT_TRUE(CheckWritable(root).ok());
  EXPECT_TRUE(CheckWritable(root + "/none/below").ok());
  EXPECT_FALSE(std::filesystem::exists(root + "/none"));
  const Status in_the_way = CheckWritable(root + "/file/below");
  ASSERT_FALSE(in_the_way.ok());
  EXPECT_EQ(in_the_way.error().message, root + "/file: Not a directory");
  EXPECT_FALSE(CheckFolder(root + "/none", R_OK).ok());
  EXPECT_FALSE(CheckFolder(root + "/file", R_OK).ok());
}

}  // namespace
}  // namespace sentinel
