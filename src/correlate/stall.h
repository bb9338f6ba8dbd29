// One communicator that is watched because somebody in it suspects a stall: the rounds in which its
// members are asked, and the verdict as it stands.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "correlate/judgement.h"
#include "correlate/roster.h"

namespace sentinel {

// After a stall has healed its members are asked for so long again: a rank that is still suspect
// says so once, not every time.
constexpr Duration kWatchAfterHeal = std::chrono::seconds(2);
// A stall that moves at least so often is slow, not stuck.
constexpr Duration kSlowPause = std::chrono::milliseconds(1100);
constexpr uint32_t kSlowMovesMin = 2;
// Members that could answer and do not hold a confirmation up for so long.
constexpr Duration kAnswerPatience = std::chrono::milliseconds(300);
// Once the lamp is on, only recovery is waited for.
constexpr Duration kPollWhenRed = std::chrono::milliseconds(250);
// Rounds of large communicators are further apart: so much for each member.
constexpr Duration kPollPerMember = std::chrono::microseconds(10);

// A communicator that another's stall leads to is asked for so long after the last question.
constexpr Duration kLookFor = std::chrono::seconds(1);

// A process that has moved anywhere within this time is on its way and not to blame.
constexpr Duration kStillMin = std::chrono::milliseconds(200);

// A disagreement in call order that the members' calls do not explain within so long is dropped
// without a word, and the next one is looked into only after a pause that doubles.
constexpr Duration kInquiryMax = std::chrono::seconds(2);
constexpr Duration kInquiryPauseMin = std::chrono::seconds(10);
constexpr Duration kInquiryPauseMax = std::chrono::minutes(5);
// A mismatch that was found by call order ends once nothing differed for so long and every member
// has agreed so often.
constexpr Duration kOrderSettled = std::chrono::seconds(10);
constexpr uint64_t kOrderAgreements = 8;

class WatchedGroup : public Group {
 public:
  using Group::Group;

  // Facts of the surroundings a stall depends on.
  struct Around {
    const CorrelateOptions* options;
    const HostFacts* facts;
    std::function<Duration(const Seat&)> silence;  // of the agent that speaks for a seat
    std::function<Elsewhere(WatchedGroup&, const Scene&, Finding*)> follow;
    // Whether a lamp for this stall would be one too many: its job's hang has one.
    std::function<bool(const WatchedGroup&, const Judgement&)> shown;
    std::function<uint64_t()> next_epoch;
    std::function<uint64_t()> next_request;
  };

  // A digest of a member. It opens a stall if its rank suspects one.
  void OnDigest(Seat* seat, const Digest& digest, const Around& around, Instant now);

  // Marks of a member's call order. One that differs from the others' has all members asked for
  // their calls, if more may be watched than are.
  void OnMarks(Seat* seat, const std::vector<CallMark>& marks, bool may_ask, Instant now);

  // Asks, judges and heals as due.
  void Advance(const Around& around, Instant now, Correlator::Actions* actions);
  std::optional<Instant> NextWake() const;

  // Somebody else's stall hangs on what the members say: asks them for a while.
  void Look(Instant now);
  Duration AskedSince(Instant now) const { return looked_at_ ? now - *looked_at_ : Duration{0}; }

  bool watched() const {
    return stall_.has_value() || watch_until_.has_value() || inquiry_.has_value() ||
           look_until_.has_value();
  }
  // Its members call Send/Recv too, so that positions differ between ranks.
  bool carries_p2p() const { return carries_p2p_; }
  bool stalled() const { return stall_.has_value(); }
  bool red() const { return stall_ && stall_->stage == VerdictStage::kRed; }
  // The stall's verdict as it was last said; null if there is none.
  const Verdict* said() const { return stall_ && stall_->said ? &*stall_->said : nullptr; }
  std::optional<Verdict> Standing(Instant now) const;

 private:
  struct Stall {
    uint64_t epoch = 0;
    Instant opened;
    VerdictStage stage = VerdictStage::kSuspected;
    std::optional<Verdict> said;
    std::optional<Rank> subject;  // whose receive-side progress ends it
    uint32_t subject_moves = 0;
    uint32_t slow_moves = 0;
    std::optional<Instant> moved;
    std::optional<Rank> blamed;  // for not having come, and since when
    Instant blamed_since;
    Instant suspected;  // when somebody was last suspect
    std::optional<Instant> red_at;
    Instant clock_from;  // the stall clock reads now - clock_from
    // Found by call order: it stays that whatever stands still later, for whoever hangs then is a
    // victim. 0: not; else how many members were compared.
    size_t order_compared = 0;
  };

  void Ask(const Around& around, Instant now, Correlator::Actions* actions);
  void JudgeNow(const Around& around, Instant now, Correlator::Actions* actions);
  void Inquire(const Around& around, Instant now, Correlator::Actions* actions);
  void Follow(const Around& around, Instant now, Correlator::Actions* actions);
  bool Gone(Instant now) const;
  Scene Sight(const Around& around, Instant now, bool* unanswered);
  bool Equal(const Scene& scene, const Finding& finding, const Around& around) const;
  void Say(const Scene& scene, const Judgement& judgement, Instant now,
           Correlator::Actions* actions);
  void Heal(bool ended, Instant now, Correlator::Actions* actions);
  void Drop();

  std::optional<Stall> stall_;
  std::optional<Instant> watch_until_;
  std::optional<Instant> look_until_;
  std::optional<Instant> looked_at_;  // since when it is asked without a break
  bool carries_p2p_ = false;
  Instant next_poll_;
  uint64_t round_ = 0;  // request id of the round under way
  size_t asked_ = 0;
  size_t answered_ = 0;
  bool judge_ = false;  // something new that has not been judged
  bool round_judged_ = false;
  std::optional<Instant> healed_at_;
  uint32_t healed_moves_ = 0;

  OrderTable order_;
  std::optional<Instant> inquiry_;  // since when a disagreement is looked into
  Instant differed_at_;
  Instant no_inquiry_before_;
  Duration inquiry_pause_ = kInquiryPauseMin;
};

}  // namespace sentinel
