#include "signature/key_ring.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1795996334)};

KeyPair From(const char* id, int begins, int ends) {
  return {id, std::string(id) + "-secret", kNow + std::chrono::seconds(begins),
          kNow + std::chrono::seconds(ends)};
}

TEST(KeyRing, OldAndNewAreBothInUseWhileTheyAreExchanged) {
  KeyRing ring({From("new", -10, 1000), From("gone", -1000, -1), From("old", -1000, 10),
                From("next", 5, 1000)});
  auto active = ring.Active(kNow);
  ASSERT_EQ(active.size(), 2u);
  EXPECT_EQ(active[0].key, "old");
  EXPECT_EQ(active[1].key, "new");
  EXPECT_FALSE(ring.Find("gone", kNow));
  EXPECT_FALSE(ring.Find("next", kNow));
  EXPECT_EQ(ring.Find("new", kNow)->secret, "new-secret");
}

TEST(KeyRing, OfMoreThanTwoTheNewestCount) {
  KeyRing ring({From("c", -1, 10), From("a", -3, 10), From("b", -2, 10)});
  auto active = ring.Active(kNow);
  ASSERT_EQ(active.size(), kActiveKeysMax);
  EXPECT_EQ(active[0].key, "b");
  EXPECT_EQ(active[1].key, "c");
}

TEST(KeyRing, AKeyWithoutTimesIsAlwaysInUse) {
  KeyRing ring(KeyPair{"hall", "secret"});
  EXPECT_TRUE(ring.Find("hall", kNow));
  EXPECT_TRUE(ring.Find("hall", WallTime{}));
  EXPECT_TRUE(ring.Holds({"hall", "secret"}, kNow));
  EXPECT_FALSE(ring.Holds({"hall", "other"}, kNow));
}

TEST(KeyRing, AHostWhoseClockIsNotSetDoesNotLookAtTimes) {
  KeyRing ring({From("new", -10, 1000)});
  EXPECT_TRUE(ring.Find("new", WallTime{std::chrono::seconds(7)}));
}

TEST(KeyRing, WhatIsReplacedInOneCopyIsReplacedInAll) {
  KeyRing ring(KeyPair{"a", "1"});
  KeyRing copy = ring;
  ring.Replace({KeyPair{"b", "2"}});
  EXPECT_TRUE(copy.Find("b", kNow));
  EXPECT_FALSE(copy.Find("a", kNow));
}

TEST(KeyRing, AnIdFitsAHeaderAndAList) {
  EXPECT_TRUE(IsKeyId("gpu_cluster_sentinel"));
  for (const char* id : {"", "a b", "a,b", "a;b", "a\n", "\xe5\x8e\x85"}) {
    EXPECT_FALSE(IsKeyId(id)) << id;
  }
}

}  // namespace
}  // namespace sentinel
