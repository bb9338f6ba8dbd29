#include "speech/child_process.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RunChild, AnswersWhatTheProgramSays) {
  EXPECT_EQ(*RunChild({"cat"}, "机架", {}), "机架");
  std::string big(1 << 20, 'x');
  EXPECT_EQ(*RunChild({"cat"}, big, {}), big);
  EXPECT_EQ(*RunChild({"cat"}, "", {}), "");
}

TEST(RunChild, ArgumentsMeetNoShell) {
  EXPECT_EQ(*RunChild({"echo", "$HOME; ls"}, "", {}), "$HOME; ls\n");
}

TEST(RunChild, AProgramThatIsNotThereIsNotFound) {
  EXPECT_EQ(RunChild({"no-such-program-of-ours"}, "", {}).error().code, ErrorCode::kNotFound);
}

TEST(RunChild, AProgramThatHangsIsKilledAtTheTimeout) {
  ChildLimits limits;
  limits.timeout = milliseconds(50);
  Instant begin = MonotonicNow();
  EXPECT_EQ(RunChild({"sleep", "60"}, "", limits).error().code, ErrorCode::kTimeout);
  EXPECT_LT(MonotonicNow() - begin, seconds(30));
}

TEST(RunChild, AProgramThatSaysTooMuchIsKilled) {
  ChildLimits limits;
  limits.timeout = seconds(60);
  limits.output_bytes_max = 1000;
  EXPECT_EQ(RunChild({"yes"}, "", limits).error().code, ErrorCode::kExhausted);
}

TEST(RunChild, AFailureAndAnUnreadInputAreErrorsAndNotSignals) {
  EXPECT_EQ(RunChild({"false"}, std::string(1 << 20, 'x'), {}).error().code, ErrorCode::kIo);
}

TEST(ChildWriter, APlayerThatDiesIsAnError) {
  ChildWriter writer;
  ASSERT_TRUE(writer.Start({"true"}).ok());
  Result<size_t> written = size_t{0};
  for (int i = 0; i < 200 && written.ok(); i++) {
    written = writer.WriteSome(std::string(1 << 16, 'x'), milliseconds(50));
  }
  EXPECT_FALSE(written.ok());
  EXPECT_TRUE(writer.Finish(seconds(30)));
}

TEST(ChildWriter, APlayerThatDoesNotReadIsATimeoutAndCanBeKilled) {
  ChildWriter writer;
  ASSERT_TRUE(writer.Start({"sleep", "60"}).ok());
  std::string block(1 << 20, 'x');
  while (*writer.WriteSome(block, milliseconds(1)) > 0) {
  }
  writer.Kill();
  EXPECT_FALSE(writer.running());
}

}  // namespace
}  // namespace sentinel
