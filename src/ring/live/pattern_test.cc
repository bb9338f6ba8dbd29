#include "ring/live/pattern.h"

#include <gtest/gtest.h>

#include <set>

namespace sentinel {
namespace {

TEST(Pattern, TheSumIsThatOfAllRanksWhateverTheOrder) {
  const Pattern pattern(7, MixName(1, 2));
  for (size_t place : {size_t{0}, size_t{1}, size_t{4095}, size_t{1000000}}) {
    float up = 0;
    float down = 0;
    for (Rank rank = 0; rank < Pattern::kRanksMax; ++rank) up += pattern.At(rank, place);
    for (Rank rank = Pattern::kRanksMax - 1; rank >= 0; --rank) down += pattern.At(rank, place);
    EXPECT_EQ(up, down);
    EXPECT_EQ(up, pattern.SumAt(Pattern::kRanksMax, place));
  }
}

TEST(Pattern, EveryWrongElementIsCounted) {
  const Pattern pattern(7, 1);
  std::vector<float> sum(1000);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = pattern.SumAt(8, 50 + i);
  EXPECT_EQ(pattern.WrongOfSum(8, sum.data(), sum.size(), 50), 0U);
  sum[0] += 1;
  sum[999] -= pattern.At(3, 1049);  // a contribution that was lost
  EXPECT_EQ(pattern.WrongOfSum(8, sum.data(), sum.size(), 50), 2U);
}

TEST(Pattern, AnotherRankOperationOrSeedIsAllButAllWrong) {
  const Pattern pattern(7, 1);
  std::vector<float> data(1000);
  pattern.Fill(2, data.data(), data.size());
  EXPECT_EQ(pattern.WrongOfRank(2, data.data(), data.size(), 0), 0U);
  EXPECT_GT(pattern.WrongOfRank(3, data.data(), data.size(), 0), 900U);
  EXPECT_GT(pattern.WrongOfRank(2, data.data(), data.size(), 1), 900U);
  EXPECT_GT(Pattern(7, 2).WrongOfRank(2, data.data(), data.size(), 0), 900U);
  EXPECT_GT(Pattern(8, 1).WrongOfRank(2, data.data(), data.size(), 0), 900U);
}

TEST(Pattern, ItsNumbersVaryFromPlaceToPlace) {
  const Pattern pattern(1, 1);
  std::set<float> seen;
  for (size_t i = 0; i < 1000; ++i) seen.insert(pattern.At(0, i));
  EXPECT_GT(seen.size(), 300U);
}

}  // namespace
}  // namespace sentinel
