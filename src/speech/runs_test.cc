#include "speech/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "speech/lexicon.h"

namespace sentinel {
namespace {

SpeechRun Zh(std::string text) { return {Voice::kMandarin, std::move(text)}; }
SpeechRun En(std::string text) { return {Voice::kEnglish, std::move(text)}; }

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SplitRuns, GivesHanziToTheMandarinVoiceAndNamesToTheEnglishOne) {
  EXPECT_THAT(SplitRuns("训练集群紧急预警，机架 A03 节点 gpu-worker-08 触发通信死锁，全环算力挂起"),
              ElementsAre(Zh("训练集群紧急预警，机架"), En("A"), Zh("零三"), Zh("节点"),
                          En("G P U worker"), Zh("零八"), Zh("触发通信死锁，全环算力挂起")));
}

TEST(SplitRuns, ReadsTheDigitsOfANameOneByOneAndACardsNumberAsANumber) {
  EXPECT_THAT(SplitRuns("节点 node-17 第 12 号卡"),
              ElementsAre(Zh("节点"), En("node"), Zh("一七"), Zh("第12号卡")));
  EXPECT_THAT(SplitRuns("第 3、5 号卡"), ElementsAre(Zh("第3，5号卡")));
  EXPECT_THAT(SplitRuns("突降至百分之 79"), ElementsAre(Zh("突降至百分之79")));
  EXPECT_THAT(SplitRuns("地址 10.0.3.7"), ElementsAre(Zh("地址"), Zh("一零点零点三点七")));
  EXPECT_THAT(SplitRuns("温度 79.5 度"), ElementsAre(Zh("温度79点五度")));
  EXPECT_THAT(SplitRuns("编号 20260817"), ElementsAre(Zh("编号"), Zh("二零二六零八一七")));
}

TEST(SplitRuns, SaysTheFieldsOwnWordsAsTheFieldDoes) {
  EXPECT_THAT(SplitRuns("第 3 号卡 NVLink 降速"),
              ElementsAre(Zh("第3号卡"), En("N V link"), Zh("降速")));
  EXPECT_THAT(SplitRuns("P0：XID 与 NCCL"),
              ElementsAre(Zh("一级告警，"), En("X I D"), Zh("与"), En("N C C L")));
  EXPECT_THAT(SplitRuns("设备告警 ECC_ERROR"), ElementsAre(Zh("设备告警"), En("E C C ERROR")));
  EXPECT_THAT(SplitRuns("网卡 mlx5_0"), ElementsAre(Zh("网卡"), En("M L X"), Zh("五零")));
}

TEST(SplitRuns, ASentenceWithoutHanziIsEnglish) {
  std::vector<SpeechRun> runs =
      SplitRuns("Training cluster alarm: rack A03, node gpu-worker-08, GPU 3 is stuck.");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].voice, Voice::kEnglish);
  EXPECT_EQ(runs[0].text,
            "Training cluster alarm, rack A zero three, node G P U worker zero eight, G P U 3 is "
            "stuck.");
}

TEST(SplitRuns, LeavesOutWhatNoVoiceCanRead) {
  EXPECT_THAT(SplitRuns(""), IsEmpty());
  EXPECT_THAT(SplitRuns("🔥\x01\x1b"), IsEmpty());
  EXPECT_THAT(SplitRuns("节点\xE8\x8A"), ElementsAre(Zh("节点")));  // a cut character
  EXPECT_THAT(SplitRuns("<节点>"), ElementsAre(Zh("节点")));
  EXPECT_THAT(SplitRuns("[v0]节点"), ElementsAre(En("V"), Zh("零"), Zh("节点")));
}

TEST(SplitRuns, TheFixedPartsOfATemplateAreTheSameRunsInEverySentence) {
  auto a = SplitRuns("光链路预警，机架 A03 节点 n1 光模块误码告警，请排查光纤跳线");
  auto b = SplitRuns("光链路预警，机架 B17 节点 gpu-22 光模块误码告警，请排查光纤跳线");
  EXPECT_EQ(a.front(), b.front());
  EXPECT_EQ(a.back(), b.back());
  EXPECT_EQ(a.back(), Zh("光模块误码告警，请排查光纤跳线"));
}

TEST(SplitRuns, IsBounded) {
  std::string long_text = "节";
  for (int i = 0; i < 1000; i++) long_text += "a节";
  EXPECT_EQ(SplitRuns(long_text).size(), kRunsMax);
}

TEST(SpokenText, IsTheRunsInOneLine) {
  EXPECT_EQ(SpokenText(SplitRuns("机架 A03")), "机架 A 零三");
}

TEST(Pronounceable, WordsAreSaidAndAbbreviationsAreSpelt) {
  EXPECT_TRUE(Pronounceable("worker"));
  EXPECT_TRUE(Pronounceable("replay"));
  EXPECT_TRUE(Pronounceable("ERROR"));
  EXPECT_FALSE(Pronounceable("dgx"));
  EXPECT_FALSE(Pronounceable("OOM"));
  EXPECT_FALSE(Pronounceable("a"));
}

}  // namespace
}  // namespace sentinel
