// Mismatches found by call order, while nothing stands still.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "correlate/scenario.h"

namespace sentinel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// Four ranks that call an AllReduce every 50 ms; whoever calls something else is told so.
class CallingJob {
 public:
  explicit CallingJob(int32_t nranks = 4) : nranks_(nranks) {
    for (Rank rank = 0; rank < nranks; ++rank) {
      recent_.emplace_back();
      calls_.push_back(0);
      sums_.push_back(0);
      silent.push_back(false);
      ending.push_back(false);
      forgets.push_back(0);
      correlator.OnInventory(AgentOf(rank), {{MemberOf(rank)}}, now);
    }
  }

  static AgentId AgentOf(Rank rank) { return "agent-" + std::to_string(rank); }
  Member MemberOf(Rank rank) const { return RankDigest(rank, nranks_).value().member; }

  void Call(Rank rank, uint64_t count, Func func = Func::kAllReduce) {
    const size_t r = static_cast<size_t>(rank);
    Operation op = RankDigest::AllReduce(calls_[r], 2);
    op.count = count;
    op.func = func;
    recent_[r].push_back(op);
    if (recent_[r].size() > kRecentCallsMax) recent_[r].erase(recent_[r].begin());
    ++calls_[r];
    uint64_t term = (calls_[r] * 0x9e3779b97f4a7c15u) ^ count ^ static_cast<uint64_t>(func) << 50;
    term = (term ^ term >> 29) * 0xbf58476d1ce4e5b9u;
    sums_[r] = (sums_[r] + (term ^ term >> 31)) % kCallSumModulus;
  }
  void CallAll(uint64_t count = 4096) {
    for (Rank rank = 0; rank < nranks_; ++rank) Call(rank, count);
  }
  // Every agent tells its newest mark, each at its own moment, and answers what it is asked.
  void Tell() {
    for (Rank rank = 0; rank < nranks_; ++rank) {
      now = now + 10 * kMs;
      const size_t r = static_cast<size_t>(rank);
      if (!silent[r]) {
        correlator.OnCallOrder(AgentOf(rank), Marks(rank), now);
      }
      Step();
    }
    now = now + 10 * kMs;
  }
  CallOrder Marks(Rank rank) const {
    const size_t r = static_cast<size_t>(rank);
    const Member member = MemberOf(rank);
    return {{{member.comm, rank, member.place.pid, {{calls_[r], sums_[r]}}}}};
  }
  void Iterate(int iterations) {
    for (int i = 0; i < iterations; ++i) {
      CallAll();
      Tell();
    }
  }
  void Step() {
    Correlator::Actions actions = correlator.Advance(now);
    for (int round = 0; round < 3; ++round) {
      for (Verdict& v : actions.verdicts) verdicts.push_back(std::move(v));
      for (const Correlator::Request& request : actions.requests) {
        ++requests;
        for (Rank rank = 0; rank < nranks_; ++rank) {
          if (silent[static_cast<size_t>(rank)] || AgentOf(rank) != request.agent) continue;
          correlator.OnDigest(request.agent, Answer(rank, request.request.request_id), now);
        }
      }
      actions = correlator.Advance(now);
    }
  }
  Digest Answer(Rank rank, uint64_t request_id) const {
    const size_t r = static_cast<size_t>(rank);
    if (stuck && stuck->member.rank == rank) {
      Digest digest = *stuck;
      digest.request_id = request_id;
      return digest;
    }
    Digest digest = RankDigest(rank, nranks_).Between(calls_[r] == 0 ? 0 : calls_[r] - 1).value();
    digest.request_id = request_id;
    digest.recent = forgetful ? std::vector<Operation>() : recent_[r];
    const size_t gone = std::min(forgets[r], digest.recent.size());
    digest.recent.erase(digest.recent.begin(),
                        digest.recent.begin() + static_cast<ptrdiff_t>(gone));
    digest.vitals.ending = ending[r];
    return digest;
  }

  Correlator correlator{CorrelateOptions{}};
  Instant now{std::chrono::seconds(1000)};
  std::vector<Verdict> verdicts;
  std::vector<bool> silent;
  std::vector<bool> ending;
  std::vector<size_t> forgets;  // of the calls it could show, the oldest
  std::optional<Digest> stuck;  // what its rank answers, if it hangs
  bool forgetful = false;
  int requests = 0;

 private:
  int32_t nranks_;
  std::vector<std::vector<Operation>> recent_;
  std::vector<uint64_t> calls_;
  std::vector<uint64_t> sums_;
};

TEST(OrderWatch, ARankThatCallsSomethingElseIsRedAtOnce) {
  CallingJob job;
  job.Iterate(10);
  EXPECT_EQ(job.requests, 0) << "a healthy job is not asked";
  for (Rank rank = 0; rank < 4; ++rank) job.Call(rank, rank == 2 ? 2048 : 4096);
  const Instant fault = job.now;
  job.Tell();
  job.Iterate(2);
  ASSERT_FALSE(job.verdicts.empty());
  const Verdict& first = job.verdicts.front();
  EXPECT_EQ(first.stage, VerdictStage::kRed);
  EXPECT_EQ(first.hang_class, HangClass::kMismatch);
  EXPECT_EQ(first.culprit.rank, 2);
  EXPECT_EQ(first.culprit.place.host, "replay-2");
  EXPECT_LT(job.now - fault, 500ms);
  ASSERT_GE(first.evidence.size(), 2u);
  EXPECT_THAT(first.evidence[0].en, HasSubstr("rank 2 asked for AllReduce(2048"));
  EXPECT_THAT(first.evidence[1].en, HasSubstr("before any hang"));
  EXPECT_THAT(first.evidence[1].zh, HasSubstr("停住之前"));
  EXPECT_EQ(job.verdicts.size(), 1u) << "and is said once";
}

TEST(OrderWatch, AnotherFunctionIsAMismatchToo) {
  CallingJob job;
  job.Iterate(5);
  for (Rank rank = 0; rank < 4; ++rank)
    job.Call(rank, 4096, rank == 1 ? Func::kAllGather : Func::kAllReduce);
  job.Tell();
  job.Iterate(2);
  ASSERT_EQ(job.verdicts.size(), 1u);
  EXPECT_EQ(job.verdicts[0].culprit.rank, 1);
}

TEST(OrderWatch, OfTwoRanksBothAreSuspects) {
  CallingJob job(2);
  job.Iterate(5);
  job.Call(0, 4096);
  job.Call(1, 2048);
  job.Tell();
  job.Iterate(2);
  ASSERT_EQ(job.verdicts.size(), 1u);
  EXPECT_EQ(job.verdicts[0].stage, VerdictStage::kRed);
  EXPECT_FALSE(job.verdicts[0].culprit.rank);
  EXPECT_THAT(job.verdicts[0].suspects, ElementsAre(0, 1));
}

TEST(OrderWatch, TwoWhoShareACallThatOthersHaveForgottenAreNoMajority) {
  CallingJob job;
  job.Iterate(40);
  job.forgets = {0, 0, 8, 12};
  for (int i = 0; i < 40; ++i) {
    for (Rank rank = 0; rank < 4; ++rank) job.Call(rank, rank == 0 ? 2048 : 4096);
  }
  job.Tell();
  job.Iterate(2);
  ASSERT_EQ(job.verdicts.size(), 1u);
  EXPECT_EQ(job.verdicts[0].culprit.rank, 0);
}

TEST(OrderWatch, StaysOpenUntilManyLaterCallsAgree) {
  CallingJob job;
  job.Iterate(5);
  for (Rank rank = 0; rank < 4; ++rank) job.Call(rank, rank == 2 ? 2048 : 4096);
  job.Tell();
  job.Iterate(100);  // 5 s
  ASSERT_EQ(job.verdicts.size(), 1u);
  EXPECT_EQ(job.correlator.Open(job.now).size(), 1u);
  job.Iterate(120);
  ASSERT_EQ(job.verdicts.size(), 2u);
  EXPECT_EQ(job.verdicts[1].stage, VerdictStage::kHealed);
  EXPECT_FALSE(job.verdicts[1].ended);
  EXPECT_TRUE(job.correlator.Open(job.now).empty());
}

TEST(OrderWatch, EndsWithItsCommunicator) {
  CallingJob job;
  job.Iterate(5);
  for (Rank rank = 0; rank < 4; ++rank) job.Call(rank, rank == 2 ? 2048 : 4096);
  job.Tell();
  job.Iterate(2);
  job.ending.assign(4, true);
  job.Iterate(20);
  ASSERT_EQ(job.verdicts.size(), 2u);
  EXPECT_EQ(job.verdicts[1].stage, VerdictStage::kHealed);
  EXPECT_TRUE(job.verdicts[1].ended);
}

TEST(OrderWatch, ARankThatHangsAfterwardsIsNotBlamedForIt) {
  CallingJob job;
  job.Iterate(5);
  for (Rank rank = 0; rank < 4; ++rank) job.Call(rank, rank == 2 ? 2048 : 4096);
  job.Tell();
  job.Iterate(40);
  Digest stuck = RankDigest(3, 4).Inside(46).Recv(0, StepState::kRecvWait).Aged(600 * kMs);
  job.stuck = stuck;
  job.correlator.OnDigest(CallingJob::AgentOf(3), stuck, job.now);
  for (int i = 0; i < 500; ++i) job.Tell();
  ASSERT_EQ(job.verdicts.size(), 1u) << "nor is it over while somebody hangs";
  EXPECT_EQ(job.verdicts[0].culprit.rank, 2);
}

TEST(OrderWatch, NobodyIsAccusedWhereNoCallShowsWhy) {
  CallingJob job;
  job.forgetful = true;
  job.Iterate(5);
  for (Rank rank = 0; rank < 4; ++rank) job.Call(rank, rank == 2 ? 2048 : 4096);
  job.Tell();
  job.Iterate(100);
  EXPECT_TRUE(job.verdicts.empty());
  EXPECT_GT(job.requests, 0);
  EXPECT_LT(job.requests, 4 * 25) << "and it is not asked for ever";
}

TEST(OrderWatch, AnAgentThatJoinsLateAccusesNobody) {
  CallingJob job;
  job.silent[3] = true;
  for (Rank rank = 0; rank < 4; ++rank) job.Call(rank, rank == 2 ? 2048 : 4096);
  job.silent[3] = false;
  job.forgetful = true;
  // The gateway is new, and the call is long gone from everybody's memory.
  job.Iterate(60);
  EXPECT_TRUE(job.verdicts.empty());
}

TEST(OrderWatch, MarksOfAStrangerAreNotHeard) {
  CallingJob job;
  job.Iterate(3);
  CallOrder order = job.Marks(2);
  order.members[0].marks[0].sum ^= 1;
  order.members[0].pid += 1;
  job.correlator.OnCallOrder(CallingJob::AgentOf(2), order, job.now);
  order.members[0].pid -= 1;
  job.correlator.OnCallOrder(CallingJob::AgentOf(1), order, job.now);
  job.Iterate(3);
  EXPECT_EQ(job.requests, 0);
}

// A healthy job of any pace whose agents tell at any moment.
TEST(OrderWatch, NeverSpeaksOfAHealthyJob) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    uint32_t state = seed;
    const auto random = [&state] { return state = state * 1664525u + 1013904223u, state >> 16; };
    CallingJob job(static_cast<int32_t>(2 + random() % 5));
    std::vector<uint64_t> order(400);
    for (uint64_t& count : order) count = 1 + random() % 3;
    std::vector<size_t> at(job.silent.size(), 0);
    for (int step = 0; step < 300; ++step) {
      for (size_t r = 0; r < at.size(); ++r) {
        for (uint32_t n = random() % 4; n > 0 && at[r] < order.size(); --n)
          job.Call(static_cast<Rank>(r), order[at[r]++]);
      }
      job.Tell();
    }
    EXPECT_TRUE(job.verdicts.empty()) << "seed " << seed;
    EXPECT_EQ(job.requests, 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sentinel
