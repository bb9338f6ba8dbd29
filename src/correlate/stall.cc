#include "correlate/stall.h"

#include <algorithm>
#include <set>

namespace sentinel {

void WatchedGroup::OnDigest(Seat* seat, const Digest& digest, const Around& around, Instant now) {
  const bool suspects = digest.suspect && !IsDead(digest.vitals) && digest.phase != Phase::kBetween;
  if (!watched() && !suspects) return;
  if (IsFarewell(digest)) {
    if (!seat->left) seat->left = now;
    judge_ = true;
    return;
  }
  carries_p2p_ = carries_p2p_ || CallsP2p(digest);
  if (seat->report == nullptr) seat->report = std::make_unique<Report>();
  if (!seat->report->Take(digest, now)) return;
  if (digest.request_id == round_ && round_ != 0 && seat->answered != round_) {
    seat->answered = round_;
    ++answered_;
  }
  judge_ = true;
  if (!suspects) return;
  if (!stall_) {
    stall_ = Stall();  // emplace() is beyond Clang 14 here
    stall_->epoch = around.next_epoch();
    stall_->opened = now;
    // Moving again and again within moments: slow.
    if (healed_at_ && now - *healed_at_ <= kWatchAfterHeal) {
      stall_->slow_moves = healed_moves_ + 1;
      stall_->moved = now - std::max(digest.age, Duration{0});
    }
    if (!watch_until_ && !inquiry_) next_poll_ = now;
    watch_until_.reset();
  }
  stall_->suspected = now;
}

void WatchedGroup::Ask(const Around& around, Instant now, Correlator::Actions* actions) {
  round_ = around.next_request();
  asked_ = 0;
  answered_ = 0;
  round_judged_ = false;
  std::set<AgentId> asked;
  for (auto& [rank, seat] : seats()) {
    if (seat.left && now - *seat.left > kLeaveGrace) continue;
    if (!seat.agent->connected) continue;
    if (around.silence(seat) < around.options->agent_silent_after &&
        !(seat.report != nullptr && IsDead(seat.report->digest().vitals))) {
      ++asked_;
    }
    if (asked.insert(seat.agent->id).second) {
      actions->requests.push_back({seat.agent->id, {round_, key(), around.options->poll_every}});
    }
  }
  const Duration scaled =
      around.options->poll_every + kPollPerMember * static_cast<int64_t>(seats().size());
  const bool red = stall_ && stall_->stage == VerdictStage::kRed;
  next_poll_ = now + (red ? std::max(scaled, kPollWhenRed) : scaled);
}

void WatchedGroup::Look(Instant now) {
  if (!watched()) next_poll_ = now;
  if (!looked_at_) looked_at_ = now;
  look_until_ = now + kLookFor;
}

void WatchedGroup::Advance(const Around& around, Instant now, Correlator::Actions* actions) {
  if (!watched()) return;
  if (watch_until_ && now >= *watch_until_) {
    watch_until_.reset();
    if (!watched()) return Drop();
  }
  if (look_until_ && now >= *look_until_) {
    look_until_.reset();
    looked_at_.reset();
    if (!watched()) return Drop();
  }
  if (inquiry_ && now - *inquiry_ >= kInquiryMax) {
    inquiry_.reset();
    no_inquiry_before_ = now + inquiry_pause_;
    inquiry_pause_ = std::min<Duration>(inquiry_pause_ * 2, kInquiryPauseMax);
    if (!watched()) return Drop();
  }
  const bool poll = now >= next_poll_;
  const bool round_done = asked_ > 0 && answered_ >= asked_ && !round_judged_;
  if (inquiry_ && (round_done || (poll && now - *inquiry_ >= kAnswerPatience))) {
    Inquire(around, now, actions);
    if (!stall_) round_judged_ = true;
  }
  if (stall_ && stall_->order_compared > 0) {
    if (round_done || poll) {
      Follow(around, now, actions);
      round_judged_ = true;
    }
  } else if (stall_) {
    const bool red_due = stall_->red_at && now >= *stall_->red_at;
    // Between two rounds nothing is new but the clock.
    const bool overdue = poll && !round_judged_;
    if (!stall_->said || (judge_ && round_done) || red_due || overdue) {
      JudgeNow(around, now, actions);
      round_judged_ = round_judged_ || round_done;
    }
  }
  if (poll && watched()) Ask(around, now, actions);
}

void WatchedGroup::Heal(bool ended, Instant now, Correlator::Actions* actions) {
  Stall& stall = *stall_;
  if (stall.said) {
    Verdict v = *stall.said;
    v.stage = VerdictStage::kHealed;
    v.ended = ended;
    v.stalled = now - stall.clock_from;
    actions->verdicts.push_back(std::move(v));
  }
  healed_at_ = now;
  healed_moves_ = ended ? 0 : stall.slow_moves;
  stall_.reset();
  if (ended) return Drop();
  watch_until_ = now + kWatchAfterHeal;
}

void WatchedGroup::Drop() {
  looked_at_.reset();  // whoever looks begins anew
  watch_until_.reset();
  round_ = 0;
  for (auto& [rank, seat] : seats()) {
    seat.report.reset();
    seat.judged_moves = 0;
  }
}

std::optional<Instant> WatchedGroup::NextWake() const {
  if (!watched()) return std::nullopt;
  Instant wake = next_poll_;
  if (stall_ && stall_->red_at) wake = std::min(wake, *stall_->red_at);
  if (watch_until_) wake = std::min(wake, *watch_until_);
  if (look_until_) wake = std::min(wake, *look_until_);
  return wake;
}

std::optional<Verdict> WatchedGroup::Standing(Instant now) const {
  if (!stall_ || !stall_->said) return std::nullopt;
  Verdict v = *stall_->said;
  v.stalled = now - stall_->clock_from;
  return v;
}

}  // namespace sentinel
