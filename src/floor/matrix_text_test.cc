#include "floor/matrix_text.h"

#include <gtest/gtest.h>

#include "floor/font.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(MatrixText, KeepsWhereToRun) {
  EXPECT_EQ(MatrixText("训练集群紧急预警，机架 A03 节点 gpu-worker-08 触发通信死锁，全环算力挂起"),
            "A03 gpu-worker-08");
  EXPECT_EQ(MatrixText("链路降级预警，机架 A03 节点 n1 第 3 号卡 NVLink 降速，请排查互联链路"),
            "A03 n1 #3 NVLink");
  EXPECT_EQ(MatrixText("机架 B1 节点 n1 第 3、5 号卡发生驱动级报错"), "B1 n1 #3 #5");
  EXPECT_EQ(MatrixText("机架 A03 节点 n2 算力利用率突降至百分之 4"), "A03 n2 4%");
}

TEST(MatrixText, IsEmptyWhereNothingCanBeDrawn) {
  EXPECT_EQ(MatrixText("训练集群已恢复正常"), "");
  EXPECT_EQ(MatrixText("，。- "), "");
  EXPECT_EQ(MatrixText("第一时间"), "");
  EXPECT_EQ(MatrixText("\xE6\x9C"), "");  // a cut character
}

TEST(MatrixText, IsBounded) {
  const std::string digits(500, '1');
  EXPECT_EQ(MatrixText("第 " + digits + " 号卡").size(), kMatrixTextMax);
  EXPECT_EQ(MatrixText("百分之 " + digits).size(), kMatrixTextMax);
  EXPECT_LE(MatrixText(std::string(4000, 'x')).size(), kMatrixTextMax);
}

TEST(Font, HasEveryCharacterHostNamesAreMadeOf) {
  for (char c :
       std::string("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/#%")) {
    EXPECT_TRUE(FindGlyph(c).has_value()) << c;
  }
  EXPECT_FALSE(FindGlyph('\xE6').has_value());
}

std::vector<bool> Pixels(const TextStrip& strip, Duration since) {
  std::vector<bool> pixels;
  for (int y = 0; y < kFrameHeight; y++) {
    for (int x = 0; x < kFrameWidth; x++) pixels.push_back(strip.At(x, y, since));
  }
  return pixels;
}

TEST(TextStrip, AShortTextStandsStill) {
  TextStrip strip("A3");
  EXPECT_EQ(Pixels(strip, Duration(0)), Pixels(strip, seconds(7)));
}

TEST(TextStrip, ALongTextStandsLongEnoughToBeReadThenScrollsAndComesAgain) {
  TextStrip strip("A03 gpu-worker-08");
  EXPECT_EQ(Pixels(strip, Duration(0)), Pixels(strip, milliseconds(600)));
  EXPECT_NE(Pixels(strip, Duration(0)), Pixels(strip, milliseconds(1200)));
  bool again = false;
  for (int ms = 3000; ms < 20000; ms += 10) {
    again = again || Pixels(strip, Duration(0)) == Pixels(strip, milliseconds(ms));
  }
  EXPECT_TRUE(again);
}

}  // namespace
}  // namespace sentinel
