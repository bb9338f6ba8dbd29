#include "agent/spool_dir.h"

#include <gtest/gtest.h>

#include "probe/host/testing_proc.h"

namespace sentinel {
namespace {

TEST(SpoolDir, WhatWasWrittenIsThereAfterARestartOldestFirst) {
  TestingProc files;
  const std::string path = files.root() / "state/spool";
  SpoolDir spool(path);
  ASSERT_TRUE(spool.Open(10).ok());
  for (const uint64_t id : {9u, 10u, 100u})
    ASSERT_TRUE(spool.Write(id, "body " + std::to_string(id)).ok());
  spool.Remove(10);
  const Result<std::vector<SpoolDir::Entry>> left = SpoolDir(path).Open(10);
  ASSERT_TRUE(left.ok());
  ASSERT_EQ(left->size(), 2u);
  EXPECT_EQ((*left)[0].id, 9u);
  EXPECT_EQ((*left)[1].body, "body 100");
}

TEST(SpoolDir, AnEventHalfWrittenIsNoEventAndStrangersFilesStay) {
  TestingProc files;
  const std::filesystem::path path = files.root() / "spool";
  TestingProc::WriteFile(path / "5.part", "{\"node_ho");
  TestingProc::WriteFile(path / "readme.json", "mine");
  const Result<std::vector<SpoolDir::Entry>> left = SpoolDir(path).Open(10);
  ASSERT_TRUE(left.ok());
  EXPECT_TRUE(left->empty());
  EXPECT_FALSE(std::filesystem::exists(path / "5.part"));
  EXPECT_TRUE(std::filesystem::exists(path / "readme.json"));
}

TEST(SpoolDir, AFolderThatCannotBeIsAnError) {
  TestingProc files;
  TestingProc::WriteFile(files.root() / "file", "");
  SpoolDir spool(files.root() / "file/spool");
  EXPECT_FALSE(spool.Open(10).ok());
  EXPECT_EQ(spool.Write(1, "x").error().code, ErrorCode::kIo);
}

TEST(SpoolDir, ReadsNoMoreThanIsAsked) {
  TestingProc files;
  SpoolDir spool(files.root() / "spool");
  ASSERT_TRUE(spool.Open(10).ok());
  for (uint64_t id = 1; id <= 5; ++id) ASSERT_TRUE(spool.Write(id, "x").ok());
  EXPECT_EQ(spool.Open(2)->size(), 2u);
}

}  // namespace
}  // namespace sentinel
