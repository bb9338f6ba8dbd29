#include "ring/judgement_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ring/script_text_testing.h"

namespace sentinel {
namespace {

using testing::HasSubstr;

constexpr Instant kStart{std::chrono::seconds(1000)};

Instant At(int ms) { return kStart + std::chrono::milliseconds(ms); }

// A ring whose only rank made its last call, a receive-side one, at 0 ms and the others before.
class ReportOfAStall : public testing::Test {
 protected:
  ReportOfAStall() {
    recording_.ranks.push_back(OneAllReduce());
    progress_.emplace(recording_);
    const size_t calls = recording_.ranks[0].callbacks.size();
    Result<Ledger> ledger = Ledger::Create(calls);
    CHECK(ledger.ok());
    for (size_t i = 0; i + 1 < calls; ++i) {
      ledger->Made(i, At(static_cast<int>(i) - static_cast<int>(calls) + 2));
    }
    progress_->Follow(0, *ledger);
  }

  void Say(int ms, VerdictStage stage, HangClass hang_class, uint64_t epoch = 1) {
    Verdict verdict;
    verdict.epoch = epoch;
    verdict.stage = stage;
    verdict.hang_class = hang_class;
    verdict.culprit.rank = 2;
    verdict.culprit.place.host = "replay-2";
    verdict.culprit.edge = Edge{1, 2};
    verdict.evidence = {{"证据", "rank 2 stands still"}};
    judged_.push_back({At(ms), verdict});
  }
  JudgementReport Sum() { return SumUp(judged_, *progress_, kStart, mismatch_); }

  Recording recording_;
  std::optional<ProgressWatch> progress_;
  std::vector<Judged> judged_;
  std::optional<Instant> mismatch_;
};

TEST_F(ReportOfAStall, AMismatchCountsFromTheFirstCallThatDiffers) {
  mismatch_ = At(-400);
  Say(-100, VerdictStage::kRed, HangClass::kMismatch);
  const auto json = nlohmann::json::parse(ReportJson(Sum()));
  EXPECT_EQ(json["class"], "MISMATCH");
  EXPECT_EQ(json["red_ms"], 300);
}
TEST_F(ReportOfAStall, AStallIsNotCountedFromACallThatDiffers) {
  mismatch_ = At(-400);
  Say(1510, VerdictStage::kRed, HangClass::kNetwork);
  EXPECT_EQ(nlohmann::json::parse(ReportJson(Sum()))["red_ms"], 1510);
}

TEST_F(ReportOfAStall, CountsFromTheLastProgressBeforeRed) {
  Say(300, VerdictStage::kSuspected, HangClass::kUnknown);
  Say(360, VerdictStage::kConfirmed, HangClass::kNetwork);
  Say(1510, VerdictStage::kRed, HangClass::kNetwork);
  const auto json = nlohmann::json::parse(ReportJson(Sum()));
  EXPECT_EQ(json["class"], "NETWORK");
  EXPECT_EQ(json["suspect_ms"], 300);
  EXPECT_EQ(json["red_ms"], 1510);
  EXPECT_EQ(json["culprit"], nlohmann::json::parse(R"({"rank":2,"host":"replay-2","edge":[1,2]})"));
  EXPECT_EQ(json["evidence"][0], "rank 2 stands still");
  EXPECT_EQ(json["suspicions"], 0);
  ASSERT_EQ(json["timeline"].size(), 3u);
  EXPECT_EQ(json["timeline"][1]["at_ms"], 360);
  EXPECT_EQ(json["timeline"][1]["stage"], VerdictStageName(VerdictStage::kConfirmed));
}

TEST_F(ReportOfAStall, TheLastWordOnTheClassCounts) {
  Say(300, VerdictStage::kSuspected, HangClass::kUnknown);
  Say(1510, VerdictStage::kRed, HangClass::kNetwork);
  Say(1700, VerdictStage::kRed, HangClass::kProcessDead);
  Say(1900, VerdictStage::kHealed, HangClass::kProcessDead);
  const JudgementReport report = Sum();
  EXPECT_EQ(report.verdict->hang_class, HangClass::kProcessDead);
  EXPECT_EQ(report.red, std::chrono::milliseconds(1510));
  EXPECT_TRUE(report.healed);
}

TEST_F(ReportOfAStall, SuspicionsThatHealedAreOnlyCounted) {
  Say(-500, VerdictStage::kSuspected, HangClass::kUnknown, 1);
  Say(-400, VerdictStage::kHealed, HangClass::kUnknown, 1);
  Say(-300, VerdictStage::kSuspected, HangClass::kUnknown, 2);
  Say(-200, VerdictStage::kHealed, HangClass::kUnknown, 2);
  const JudgementReport report = Sum();
  EXPECT_EQ(report.suspicions, 2);
  const auto json = nlohmann::json::parse(ReportJson(report));
  EXPECT_TRUE(json["class"].is_null());
  EXPECT_TRUE(json["culprit"].is_null());
  EXPECT_TRUE(json["red_ms"].is_null());
  EXPECT_TRUE(json["evidence"].empty());
  EXPECT_THAT(ReportText(report), HasSubstr("no stall"));
}

}  // namespace
}  // namespace sentinel
