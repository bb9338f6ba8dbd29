#include <gtest/gtest.h>

#include "base/digest.h"
#include "base/result.h"
#include "base/time.h"

namespace sentinel {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) return Error{ErrorCode::kInvalidArgument, "odd"};
  return number / 2;
}

Result<int> Quarter(int number) {
  int half = TRY(Half(number));
  return Half(half);
}

TEST(Result, TryPassesTheErrorUpAndTheValueOn) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).error().message, "odd");
}

TEST(ResultDeathTest, AskingAFailedResultForItsValueIsOurMistake) {
  EXPECT_DEATH((void)Half(3).value(), "CHECK failed");
}

TEST(Digest, SignatureMatchesTheContractsCheckValue) {
  EXPECT_EQ(HmacSha256Hex("AI#TrainSecureHMACSecretKey2026",
                          "1795996334\n"
                          "{\"text\":\"训练集群紧急预警，机架 A03 节点 gpu-worker-08 "
                          "触发通信死锁，全环算力挂起\",\"color\":\"#FF0000\",\"light_mode\":"
                          "\"flash\",\"audio_mode\":\"cycle\",\"repeat_times\":3}"),
            "d1aa293780f63fb5c4d2554d2ca90e260a79de23556dafb9963aaef4b6808b5a");
}

TEST(Digest, ComparesWholeStrings) {
  EXPECT_TRUE(ConstantTimeEqual("abc", "abc"));
  EXPECT_FALSE(ConstantTimeEqual("abc", "abd"));
  EXPECT_FALSE(ConstantTimeEqual("abc", "ab"));
}

TEST(Time, IsWrittenInUtcWithMilliseconds) {
  EXPECT_EQ(FormatRfc3339({std::chrono::milliseconds(1795996334250)}), "2026-11-29T23:52:14.250Z");
  EXPECT_EQ(FormatRfc3339({std::chrono::milliseconds(-1)}), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace sentinel
