#include "incident/silence_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sentinel {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class SilenceBookTest : public testing::Test {
 protected:
  Moment now_{Instant{seconds(1000)}, WallTime{seconds(1'795'996'334)}};
  SilenceBook book_;

  void Pass(Duration d) {
    now_.mono = now_.mono + d;
    now_.wall = now_.wall + std::chrono::duration_cast<std::chrono::milliseconds>(d);
    changes_ = book_.Advance(now_.mono);
  }
  SilenceBook::Changes changes_;

  Silence For(SilenceMatcher matcher, minutes lasts = hours(1)) {
    Silence silence;
    silence.matcher = std::move(matcher);
    silence.starts = now_.wall;
    silence.expires = now_.wall + lasts;
    silence.author = "li";
    return silence;
  }
  std::string Add(Silence silence) {
    Result<Silence> added = book_.Add(std::move(silence), now_);
    EXPECT_TRUE(added.ok()) << added.error().message;
    book_.Advance(now_.mono);
    return added.ok() ? added->id : "";
  }
  bool Covers(std::string_view host, std::string_view rack, std::string_view type = "XID_FATAL",
              std::string_view job = "") {
    return book_.Covering({{{host, rack}}, type, job}) != nullptr;
  }
};

TEST_F(SilenceBookTest, CoversWhatFitsEveryFieldThatSaysSomething) {
  Add(For({"gpu-worker-0?", "A03", "XID_*", ""}));
  EXPECT_TRUE(Covers("gpu-worker-08", "A03"));
  EXPECT_FALSE(Covers("gpu-worker-18", "A03"));
  EXPECT_FALSE(Covers("gpu-worker-08", "A04"));
  EXPECT_FALSE(Covers("gpu-worker-08", "A03", "ECC_ERROR"));
  Add(For({"", "", "", "slurm:7.*"}));
  EXPECT_TRUE(Covers("n1", "B01", "NCCL_TIMEOUT", "slurm:7.0"));
  EXPECT_FALSE(Covers("n1", "B01", "NCCL_TIMEOUT", ""));
}

TEST_F(SilenceBookTest, AHostIsMeantWhateverSuffixItReportsUnder) {
  Add(For({"gpu-worker-08-5f7c9d8b4a", "机架A03", "", ""}));
  EXPECT_TRUE(Covers("gpu-worker-08", "A03"));
}

TEST_F(SilenceBookTest, AHangOfUnknownPlaceIsCoveredIfAllItsSuspectsAre) {
  Add(For({"n1", "", "", ""}));
  EXPECT_EQ(book_.Covering({{{"n1", ""}, {"n2", ""}}, "NCCL_TIMEOUT", ""}), nullptr);
  EXPECT_EQ(book_.Covering({{}, "NCCL_TIMEOUT", ""}), nullptr);
  Add(For({"n2", "", "", ""}));
  // Each by another silence: not one that covers it.
  EXPECT_EQ(book_.Covering({{{"n1", ""}, {"n2", ""}}, "NCCL_TIMEOUT", ""}), nullptr);
  Add(For({"n?", "", "", ""}));
  EXPECT_NE(book_.Covering({{{"n1", ""}, {"n2", ""}}, "NCCL_TIMEOUT", ""}), nullptr);
}

TEST_F(SilenceBookTest, BeginsAndEndsByItself) {
  Silence later = For({"n1", "", "", ""});
  later.starts = now_.wall + minutes(10);
  const std::string id = Add(later);
  EXPECT_FALSE(Covers("n1", ""));
  EXPECT_EQ(book_.PhaseOf(*book_.Find(id)), SilencePhase::kPending);
  EXPECT_EQ(book_.NextChange(), now_.mono + minutes(10));
  Pass(minutes(10));
  EXPECT_TRUE(changes_.begun);
  EXPECT_TRUE(Covers("n1", ""));
  EXPECT_EQ(book_.NextChange(), now_.mono + minutes(50));
  Pass(minutes(50));
  ASSERT_EQ(changes_.ended.size(), 1u);
  EXPECT_FALSE(Covers("n1", ""));
  EXPECT_EQ(book_.PhaseOf(*book_.Find(id)), SilencePhase::kOver);
  EXPECT_FALSE(book_.NextChange().has_value());
}

TEST_F(SilenceBookTest, ASilenceTakenBackEndsAtOnceAndOnlyOnce) {
  const std::string id = Add(For({"n1", "", "", ""}));
  EXPECT_TRUE(book_.Expire(id, now_).ok());
  EXPECT_EQ(book_.Expire(id, now_).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(book_.Expire("0123", now_).error().code, ErrorCode::kNotFound);
  Pass(seconds(0));
  EXPECT_EQ(changes_.ended.size(), 1u);
  EXPECT_FALSE(Covers("n1", ""));
}

TEST_F(SilenceBookTest, ADrainThatIsRepeatedIsTheOneThatLasts) {
  Silence drained = For({"n1", "", "", ""});
  drained.state = NodeState::kDrained;
  drained.expires.reset();
  const std::string first = Add(drained);
  Pass(hours(24));
  EXPECT_EQ(Add(drained), first);
  Silence other = drained;
  other.comment = "card 3";
  EXPECT_NE(Add(other), first);
  other.comment.clear();
  other.state = NodeState::kCordoned;
  EXPECT_NE(Add(other), first);
  EXPECT_EQ(book_.All().size(), 3u);
  EXPECT_TRUE(book_.Expire(first, now_).ok());
  EXPECT_NE(Add(drained), first);  // it is over: this one begins
}

TEST_F(SilenceBookTest, ASilenceOfThePastIsSaidToBeOver) {
  Silence past = For({"n1", "", "", ""});
  past.starts = now_.wall + hours(-5);
  past.expires = now_.wall + hours(-4);
  EXPECT_EQ(book_.Add(past, now_).error().message, "its end has passed already");
}

TEST_F(SilenceBookTest, ANodeStateIsNoMaintenanceAndMayLastUntilItIsTakenBack) {
  Silence drained = For({"n1", "", "", ""});
  drained.state = NodeState::kDrained;
  drained.expires.reset();
  Add(drained);
  EXPECT_FALSE(Covers("n1", ""));
  ASSERT_NE(book_.OutOfService({"n1", ""}), nullptr);
  EXPECT_EQ(book_.OutOfService({"n1", ""})->state, NodeState::kDrained);
  EXPECT_EQ(book_.OutOfService({"n2", ""}), nullptr);
  Pass(hours(2000));
  EXPECT_NE(book_.OutOfService({"n1", ""}), nullptr);
}

TEST_F(SilenceBookTest, WhatIsNotASilenceIsRefusedInWords) {
  auto refused = [&](Silence silence) {
    Result<Silence> added = book_.Add(std::move(silence), now_);
    ASSERT_FALSE(added.ok());
    EXPECT_EQ(added.error().code, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(added.error().message.empty());
  };
  refused(For({}));
  refused(For({"n1", "", "", ""}, minutes(-1)));
  refused(For({"n1", "", "", ""}, kSilenceLongest + minutes(1)));
  Silence endless = For({"n1", "", "", ""});
  endless.expires.reset();
  refused(endless);
  Silence nobody = For({"n1", "", "", ""});
  nobody.author.clear();
  refused(nobody);
  Silence state = For({"n1", "", "XID_FATAL", ""});
  state.state = NodeState::kReserved;
  refused(state);
  refused(For({std::string(kSilenceFieldBytesMax + 1, 'n'), "", "", ""}));
}

TEST_F(SilenceBookTest, TheSameSilenceTwiceIsOneAndTooManyAreRefused) {
  EXPECT_EQ(Add(For({"n1", "", "", ""})), Add(For({"n1", "", "", ""})));
  for (size_t i = 1; i < kSilencesMax; ++i) Add(For({"m" + std::to_string(i), "", "", ""}));
  EXPECT_EQ(book_.Add(For({"one-more", "", "", ""}), now_).error().code, ErrorCode::kExhausted);
}

TEST_F(SilenceBookTest, ARestartForgetsWhatIsOverAndNoClockMakesOneLonger) {
  Silence over = For({"n1", "", "", ""});
  over.id = "1";
  over.expires = now_.wall + minutes(-1);
  EXPECT_FALSE(book_.Restore(over, now_));
  Silence far = For({"n2", "", "", ""});
  far.id = "2";
  far.expires = now_.wall + hours(24 * 365);
  EXPECT_TRUE(book_.Restore(far, now_));
  EXPECT_EQ(*book_.NextChange(), now_.mono);
  Pass(kSilenceLongest);
  EXPECT_EQ(changes_.ended.size(), 1u);
}

}  // namespace
}  // namespace sentinel
