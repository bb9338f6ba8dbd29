#include "correlate/order_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sentinel {
namespace {

using Outcome = OrderTable::Outcome;

// Sums over calls of chosen kinds, as a board would have them.
uint64_t SumOf(const std::vector<int>& kinds, uint64_t calls) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < calls; ++i) {
    uint64_t term = (i + 1) * 0x9e3779b97f4a7c15u ^ static_cast<uint64_t>(kinds[i]) << 20;
    term = (term ^ term >> 29) * 0xbf58476d1ce4e5b9u;
    sum += term ^ term >> 31;
  }
  return sum % kCallSumModulus;
}

struct Teller {
  std::vector<int> kinds;
  OrderTable::Stance stance;
  uint64_t calls = 0;
};

TEST(OrderTable, RanksInOneOrderNeverDifferWhateverTheTiming) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<int> kinds(2000);
    for (int& kind : kinds) kind = static_cast<int>(random() % 5);
    std::vector<Teller> members(2 + random() % 6);
    for (Teller& member : members) member.kinds = kinds;
    OrderTable table;
    for (int step = 0; step < 1500; ++step) {
      Teller& member = members[random() % members.size()];
      if (random() % 50 == 0) member.stance = {};  // its process was replaced
      const uint64_t ahead = random() % 100 == 0 ? 900 : random() % 20;
      member.calls = std::min<uint64_t>(member.calls + ahead, kinds.size());
      const uint64_t at = random() % 2 == 0 ? member.calls : member.calls / 8 * 8;
      if (at == 0) continue;
      EXPECT_NE(table.Compare(&member.stance, {at, SumOf(kinds, at)}), Outcome::kDiffers);
    }
  }
}

TEST(OrderTable, AnotherOrderIsSeenWithinTwoBlocks) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<Teller> members(2 + random() % 6);
    std::vector<int> kinds(200);
    for (int& kind : kinds) kind = static_cast<int>(random() % 5);
    for (Teller& member : members) member.kinds = kinds;
    const uint64_t fault = random() % 150;
    std::vector<int>& wrong = members[random() % members.size()].kinds;
    if (random() % 2 == 0) {
      wrong[fault] += 1;  // another call
    } else {
      wrong[fault] = 7;  // two calls changed over
      wrong[fault + 1] = 8;
      for (Teller& member : members) {
        if (&member.kinds == &wrong) continue;
        member.kinds[fault] = 8;
        member.kinds[fault + 1] = 7;
      }
    }
    OrderTable table;
    uint64_t seen_at = 0;
    for (uint64_t block = 8; block <= 200 && seen_at == 0; block += 8) {
      std::shuffle(members.begin(), members.end(), random);
      for (Teller& member : members) {
        const CallMark mark = {block, SumOf(member.kinds, block)};
        if (table.Compare(&member.stance, mark) == Outcome::kDiffers) seen_at = block;
      }
    }
    EXPECT_GT(seen_at, fault);
    EXPECT_LE(seen_at, fault + 16);
  }
}

TEST(OrderTable, OneWrongCallIsNewsOnceAndThenTheyAgreeAgain) {
  Teller right{std::vector<int>(100, 1), {}, 0};
  Teller wrong = right;
  wrong.kinds[10] = 2;
  OrderTable table;
  int differs = 0;
  for (uint64_t at = 8; at <= 96; at += 8) {
    for (Teller* member : {&right, &wrong})
      differs +=
          table.Compare(&member->stance, {at, SumOf(member->kinds, at)}) == Outcome::kDiffers;
  }
  EXPECT_EQ(differs, 1);
  EXPECT_EQ(table.agreed_since(), 10u);
}

TEST(OrderTable, AMemberFarBehindIsNotCompared) {
  Teller ahead{std::vector<int>(1000, 1), {}, 0};
  Teller behind{std::vector<int>(1000, 2), {}, 0};
  OrderTable table;
  for (uint64_t at = 8; at <= 1000; at += 8)
    table.Compare(&ahead.stance, {at, SumOf(ahead.kinds, at)});
  EXPECT_EQ(table.Compare(&behind.stance, {8, SumOf(behind.kinds, 8)}), Outcome::kNothing);
  EXPECT_EQ(table.Compare(&behind.stance, {1000, SumOf(behind.kinds, 1000)}), Outcome::kDiffers);
}

TEST(OrderTable, AnOldMarkSaysNothingAndACountThatFallsFarIsANewBeginning) {
  OrderTable table;
  OrderTable::Stance stance;
  EXPECT_EQ(table.Compare(&stance, {20'000, 5}), Outcome::kNothing);
  EXPECT_EQ(table.Compare(&stance, {19'000, 6}), Outcome::kNothing);
  EXPECT_EQ(stance.newest, 20'000u);
  table.Compare(&stance, {8, 7});
  EXPECT_EQ(stance.newest, 8u);
}

}  // namespace
}  // namespace sentinel
