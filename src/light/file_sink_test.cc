#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/testing_folder.h"
#include "light/frame_sink.h"

namespace sentinel {
namespace {

class FileSinkTest : public testing::Test {
 protected:
  FileSinkTest() {
    signal(SIGPIPE, SIG_IGN);  // as the program does
  }
  static Frame Filled(uint8_t value) {
    Frame frame;
    frame.fill(value);
    return frame;
  }
  TestingFolder folder_;
  const std::filesystem::path directory_ = folder_.path();
};

TEST_F(FileSinkTest, ARegularFileHoldsTheLatestFrameAndNothingElse) {
  std::string path = directory_ / "frame";
  auto sink = MakeFileSink(path);
  ASSERT_TRUE(sink->Show(Filled(1)).ok());
  ASSERT_TRUE(sink->Show(Filled(2)).ok());
  EXPECT_EQ(std::filesystem::file_size(path), kFrameBytes);
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  Frame read_back{};
  EXPECT_EQ(read(fd, read_back.data(), kFrameBytes), static_cast<ssize_t>(kFrameBytes));
  close(fd);
  EXPECT_EQ(read_back, Filled(2));
}

TEST_F(FileSinkTest, AFifoIsWrittenFrameAfterFrameAndNeverBlocks) {
  std::string path = directory_ / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  auto sink = MakeFileSink(path);
  EXPECT_TRUE(sink->Show(Filled(1)).ok());  // nobody reads yet
  int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  for (int i = 0; i < 1000; i++) EXPECT_TRUE(sink->Show(Filled(static_cast<uint8_t>(i))).ok());
  std::array<Frame, 2> frames{};
  EXPECT_EQ(read(reader, frames.data(), sizeof frames), static_cast<ssize_t>(sizeof frames));
  EXPECT_EQ(frames[0], Filled(0));
  EXPECT_EQ(frames[1], Filled(1));
  close(reader);
  EXPECT_TRUE(sink->Show(Filled(1)).ok());
  EXPECT_TRUE(sink->Show(Filled(1)).ok());
}

TEST_F(FileSinkTest, APlaceThatCannotBeWrittenIsAnErrorInWords) {
  auto sink = MakeFileSink((directory_ / "missing" / "frame").string());
  Status shown = sink->Show(Filled(1));
  ASSERT_FALSE(shown.ok());
  EXPECT_NE(shown.error().message.find("missing"), std::string::npos);
}

}  // namespace
}  // namespace sentinel
