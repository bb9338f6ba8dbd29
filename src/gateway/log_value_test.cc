#include "gateway/log_value.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

TEST(LogValue, IsTheTextWhereItIsOneWord) {
  EXPECT_EQ(LogValue("gpu-worker-08"), "gpu-worker-08");
  EXPECT_EQ(LogValue(""), "\"\"");
}

TEST(LogValue, CannotMakeAnotherKeyOrAnotherLine) {
  EXPECT_EQ(LogValue("n1 severity=P1"), "\"n1 severity=P1\"");
  EXPECT_EQ(LogValue("n1\" x\nevent=started"), "\"n1? x?event=started\"");
}

TEST(LogValue, IsCutBetweenCharacters) {
  std::string long_name(70'000, 'a');
  EXPECT_EQ(LogValue(long_name), std::string(kLogValueBytesMax, 'a') + "...");
  std::string hanzi = "a";
  for (int i = 0; i < 100; ++i) hanzi += "节";
  EXPECT_EQ(LogValue(hanzi).size(), 1 + 31 * 3 + 3u);
}

}  // namespace
}  // namespace sentinel
