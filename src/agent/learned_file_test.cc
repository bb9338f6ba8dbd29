#include "agent/learned_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/testing_folder.h"
#include "progress/learned_text.h"

namespace sentinel {
namespace {

std::string TextOf(const std::string& boot) {
  size_t left_out = 0;
  return WriteLearned({boot, {{7, 88, "", 5, {}, {}}}}, &left_out);
}

class LearnedFileTest : public testing::Test {
 protected:
  ErrorCode CodeOf(const std::string& boot) {
    const Result<Learned> learned = file.Load(boot);
    EXPECT_FALSE(learned.ok());
    return learned.ok() ? ErrorCode::kTimeout : learned.error().code;
  }

  TestingFolder folder;
  std::string state = folder.path() / "var/state";
  LearnedFile file{state, "agent-1"};
};

TEST_F(LearnedFileTest, WhatWasSavedIsThereAndItsFolderIsMade) {
  EXPECT_EQ(CodeOf("b"), ErrorCode::kNotFound);
  ASSERT_TRUE(file.Save(TextOf("b")).ok());
  const Result<Learned> learned = file.Load("b");
  ASSERT_TRUE(learned.ok()) << learned.error().message;
  EXPECT_EQ(learned->processes.at(0).pid, 7);
  struct stat status {};
  ASSERT_EQ(stat(file.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(LearnedFileTest, AnotherBootsIsNotTakenUp) {
  ASSERT_TRUE(file.Save(TextOf("b")).ok());
  EXPECT_EQ(CodeOf("c"), ErrorCode::kUnavailable);
  EXPECT_EQ(CodeOf(""), ErrorCode::kUnavailable) << "a boot that cannot be told";
}

TEST_F(LearnedFileTest, AFileThatIsDamagedALinkOrAFifoIsNoneAndIsReplaced) {
  std::filesystem::create_directories(state);
  std::ofstream(file.path()) << "gpu-sentinel-learned 1 b\n";
  EXPECT_EQ(CodeOf("b"), ErrorCode::kCorrupt);
  std::filesystem::remove(file.path());
  std::ofstream(folder.path() / "other") << TextOf("b");
  std::filesystem::create_symlink(folder.path() / "other", file.path());
  EXPECT_EQ(CodeOf("b"), ErrorCode::kCorrupt);
  std::filesystem::remove(file.path());
  ASSERT_EQ(mkfifo(file.path().c_str(), 0600), 0);
  EXPECT_EQ(CodeOf("b"), ErrorCode::kCorrupt);
  ASSERT_TRUE(file.Save(TextOf("b")).ok());
  EXPECT_TRUE(file.Load("b").ok());
}

TEST_F(LearnedFileTest, AKilledWritersHalfFileIsInNobodysWay) {
  ASSERT_TRUE(file.Save(TextOf("b")).ok());
  std::ofstream(file.path() + ".part") << "gpu-sent";
  EXPECT_TRUE(file.Load("b").ok());
  ASSERT_TRUE(file.Save(TextOf("c")).ok());
  EXPECT_TRUE(file.Load("c").ok());
  EXPECT_FALSE(std::filesystem::exists(file.path() + ".part"));
}

TEST_F(LearnedFileTest, ALinkInTheWayIsNotWrittenThrough) {
  std::filesystem::create_directories(state);
  std::filesystem::create_symlink(folder.path() / "victim", file.path() + ".part");
  ASSERT_TRUE(file.Save(TextOf("b")).ok());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "victim"));
}

TEST_F(LearnedFileTest, AgentsThatShareAFolderDoNotShareAFile) {
  const LearnedFile other(state, "agent-2");
  ASSERT_TRUE(file.Save(TextOf("b")).ok());
  EXPECT_FALSE(other.Load("b").ok());
}

TEST_F(LearnedFileTest, AFolderThatCannotBeMadeIsSaid) {
  std::ofstream(folder.path() / "var") << "x";
  EXPECT_FALSE(file.Save(TextOf("b")).ok());
}

}  // namespace
}  // namespace sentinel
