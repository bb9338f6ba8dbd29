#include "ctl/key_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "base/testing_folder.h"

namespace sentinel {
namespace {

using std::chrono::hours;
using testing::HasSubstr;

constexpr WallTime kNow{std::chrono::seconds(1795996334)};

class KeyFolderTest : public testing::Test {
 protected:
  static std::string Text(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  KeyRing Ring() const {
    auto keys = LoadKeys(folder_, SampleKey::kRefused);
    EXPECT_TRUE(keys.ok()) << keys.error().message;
    return keys.ok() ? KeyRing(std::move(*keys)) : KeyRing();
  }
  std::string State(const std::string& id, WallTime at) const {
    auto list = keys_.List(at);
    EXPECT_TRUE(list.ok());
    for (const KeyFolder::Entry& entry : *list) {
      if (entry.file.pair.key == id) return std::string(KeyStateName(entry.state));
    }
    return "none";
  }

  TestingFolder home_;
  std::string folder_ = home_.path().string() + "/keys";
  KeyFolder keys_{folder_};
};

TEST_F(KeyFolderTest, ANewKeyIsItsOwnersAloneAndOfChance) {
  auto first = keys_.New("hall-1", kNow);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->secret.size(), 64u);
  struct stat found {};
  ASSERT_EQ(stat(keys_.PathOf("hall-1").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600u);
  ASSERT_EQ(stat(folder_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0700u);
  auto second = keys_.New("", kNow);
  ASSERT_TRUE(second.ok());
  EXPECT_THAT(second->key, testing::StartsWith("key-"));
  EXPECT_NE(second->secret, first->secret);
  EXPECT_EQ(Ring().Find("hall-1", kNow), *first);
}

TEST_F(KeyFolderTest, AtMostTwoAreInUse) {
  ASSERT_TRUE(keys_.New("a", kNow).ok());
  EXPECT_FALSE(keys_.New("a", kNow).ok());  // it is there
  ASSERT_TRUE(keys_.New("b", kNow).ok());
  EXPECT_EQ(keys_.New("c", kNow).error().code, ErrorCode::kExhausted);
  EXPECT_EQ(keys_.Rotate("c", hours(1), kNow).error().code, ErrorCode::kExhausted);
  ASSERT_TRUE(keys_.Revoke("a", kNow).ok());
  EXPECT_TRUE(keys_.Rotate("c", hours(1), kNow).ok());
}

TEST_F(KeyFolderTest, AnExchangeLeavesTheOldKeyValidForAWhile) {
  EXPECT_EQ(keys_.Rotate("new", hours(24), kNow).error().code, ErrorCode::kIo);  // no folder
  ASSERT_TRUE(keys_.New("old", kNow + hours(-100)).ok());
  ASSERT_TRUE(keys_.Rotate("new", hours(24), kNow).ok());
  auto active = Ring().Active(kNow + hours(23));
  ASSERT_EQ(active.size(), 2u);
  EXPECT_EQ(active[0].key, "old");
  EXPECT_EQ(active[1].key, "new");
  EXPECT_EQ(Ring().Active(kNow + hours(24)).size(), 1u);
  EXPECT_EQ(State("old", kNow + hours(24)), "ended");
  EXPECT_EQ(State("new", kNow), "active");
}

TEST_F(KeyFolderTest, AKeyThatSomebodyElseWroteIsStillItselfAfterAnExchange) {
  ASSERT_EQ(mkdir(folder_.c_str(), 0700), 0);
  std::ofstream(keys_.PathOf("old"))
      << "key = 'o\"l\\d'\nsecret = \"pa\\\"ss\\\\wört\\t\\u007f\"\n";
  chmod(keys_.PathOf("old").c_str(), 0600);
  const KeyPair before = Ring().all().at(0);
  ASSERT_TRUE(keys_.Rotate("new", hours(24), kNow).ok());
  const auto after = Ring().Find("o\"l\\d", kNow);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->secret, before.secret);
}

// With three in use the two newest count: whoever has only the old one would be cut off at once.
TEST_F(KeyFolderTest, OfExchangesAtTheSameMomentOneIsDone) {
  ASSERT_TRUE(keys_.New("old", kNow + hours(-100)).ok());
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this, i, &done] {
      if (keys_.Rotate("new-" + std::to_string(i), hours(24), kNow).ok()) ++done;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 1);
  EXPECT_EQ(Ring().all().size(), 2u);
}

TEST_F(KeyFolderTest, ARevokedKeyIsWorthNothingAndItsSecretIsGone) {
  KeyPair pair = *keys_.New("a", kNow);
  ASSERT_TRUE(keys_.New("b", kNow).ok());
  ASSERT_TRUE(keys_.Revoke("a", kNow).ok());
  EXPECT_FALSE(Ring().Find("a", kNow));
  EXPECT_THAT(Text(keys_.PathOf("a")), testing::Not(HasSubstr(pair.secret)));
  EXPECT_EQ(State("a", kNow), "revoked");
  EXPECT_EQ(keys_.Revoke("c", kNow).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(keys_.Revoke("b", kNow).ok());
  EXPECT_TRUE(Ring().empty());
}

TEST_F(KeyFolderTest, AnIdThatWouldLeaveTheFolderIsRefused) {
  for (const char* id : {"../a", "a/b", ".a", "-a", "a b", "a\"b"}) {
    EXPECT_EQ(keys_.New(id, kNow).error().code, ErrorCode::kInvalidArgument) << id;
  }
}

TEST_F(KeyFolderTest, AFolderThatOthersCanWriteToIsRefused) {
  ASSERT_TRUE(keys_.New("a", kNow).ok());
  chmod(folder_.c_str(), 0770);
  EXPECT_EQ(LoadKeys(folder_, SampleKey::kRefused).error().code, ErrorCode::kDenied);
  chmod(folder_.c_str(), 0750);
  EXPECT_TRUE(LoadKeys(folder_, SampleKey::kRefused).ok());
}

TEST_F(KeyFolderTest, TwoFilesWithOneIdAreAMistake) {
  ASSERT_TRUE(keys_.New("a", kNow).ok());
  std::ofstream(folder_ + "/b.key") << Text(keys_.PathOf("a"));
  chmod((folder_ + "/b.key").c_str(), 0600);
  EXPECT_THAT(LoadKeys(folder_, SampleKey::kRefused).error().message, HasSubstr("another file"));
}

}  // namespace
}  // namespace sentinel
