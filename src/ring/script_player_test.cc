#include "ring/script_player.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ring/script_text_testing.h"

namespace sentinel {
namespace {

struct Made {
  size_t index;
  std::string thread_name;
  pid_t tid;
  Instant when;
};

std::vector<Made> PlayAll(const RankRecording& rank, const Timeline& timeline) {
  std::vector<Made> made;
  ScriptPlayer player(rank, timeline, [&](size_t index, const Callback&) {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    made.push_back({index, name, gettid(), MonotonicNow()});
  });
  player.Play();
  return made;
}

TEST(ScriptPlayer, MakesEveryCallOnceInFileOrderOnThreadsWithTheRecordedNames) {
  const RankRecording rank = OneAllReduce();
  const std::vector<Made> made = PlayAll(rank, {rank.callbacks[0].at_ns, MonotonicNow(), 1});
  ASSERT_EQ(made.size(), rank.callbacks.size());
  std::set<std::pair<std::string, pid_t>> threads;
  for (size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(made[i].index, i);
    EXPECT_EQ(made[i].thread_name, rank.callbacks[i].thread_name);
    threads.insert({made[i].thread_name, made[i].tid});
  }
  EXPECT_EQ(threads.size(), 2u);
}

TEST(ScriptPlayer, NoCallIsMadeBeforeItsTime) {
  RankRecording rank = OneAllReduce();
  const int64_t origin = rank.callbacks[0].at_ns;
  for (size_t i = 0; i < rank.callbacks.size(); ++i) {
    rank.callbacks[i].at_ns = origin + static_cast<int64_t>(i) * 2'000'000;
  }
  const Timeline timeline{origin, MonotonicNow(), /*speed=*/2};
  for (const Made& call : PlayAll(rank, timeline)) {
    EXPECT_GE(call.when + std::chrono::microseconds(50),
              timeline.At(rank.callbacks[call.index].at_ns));
  }
}

TEST(ScriptPlayer, TimesThatRunBackwardsBetweenThreadsDoNotDisturbTheOrder) {
  RankRecording rank = OneAllReduce();
  rank.callbacks[11].at_ns -= 500'000'000;
  const std::vector<Made> made = PlayAll(rank, {rank.callbacks[0].at_ns, MonotonicNow(), 1});
  for (size_t i = 0; i < made.size(); ++i) EXPECT_EQ(made[i].index, i);
}

TEST(ScriptPlayer, AnEmptyScriptIsOverAtOnce) {
  const RankRecording rank;
  EXPECT_TRUE(PlayAll(rank, {}).empty());
}

}  // namespace
}  // namespace sentinel
