// The part of a watched communicator that finds a mismatch by call order, before anything stands
// still: marks say that members differ, their recent calls say who and how, and only that accuses.
#include <algorithm>

#include "correlate/stall.h"

namespace sentinel {

void WatchedGroup::OnMarks(Seat* seat, const std::vector<CallMark>& marks, bool may_ask,
                           Instant now) {
  bool differs = false;
  for (const CallMark& mark : marks) {
    differs |= order_.Compare(&seat->order, mark) == OrderTable::Outcome::kDiffers;
  }
  if (!differs) return;
  differed_at_ = now;
  const bool known = stall_ && stall_->order_compared > 0;
  if (known || inquiry_ || !may_ask || now < no_inquiry_before_) return;
  inquiry_ = now;
  next_poll_ = now;
}

// Looks whether the calls that members still remember explain why their marks differ.
void WatchedGroup::Inquire(const Around& around, Instant now, Correlator::Actions* actions) {
  bool unanswered = false;
  const Scene scene = Sight(around, now, &unanswered);
  // Members remember different stretches of calls, and some may have yet to come to the one that
  // differs. Two that happen to share it are no majority: everybody is waited for, then most.
  size_t heard = 0;
  for (const Scene::Seat& seat : scene.seats()) heard += seat.report != nullptr;
  const bool patient = now - *inquiry_ < kAnswerPatience;
  if (patient && unanswered) return;
  std::optional<Disagreement> disagreement = CompareCalls(scene, heard);
  if (!disagreement && !patient) disagreement = CompareCalls(scene, seats().size() / 2 + 1);
  if (!disagreement) return;
  if (!stall_) {
    stall_ = Stall();  // emplace() is beyond Clang 14 here
    stall_->epoch = around.next_epoch();
    stall_->opened = now;
    watch_until_.reset();
  }
  stall_->order_compared = disagreement->compared;
  stall_->stage = VerdictStage::kRed;
  stall_->red_at.reset();
  stall_->subject.reset();
  stall_->suspected = now;
  stall_->clock_from = *inquiry_;
  inquiry_.reset();
  inquiry_pause_ = kInquiryPauseMin;
  Say(scene, JudgeOrder(scene, *disagreement), now, actions);
}

// Nobody is left who could go on: they have gone, died, finalized or been told to end.
bool WatchedGroup::Gone(Instant now) const {
  return std::all_of(seats().begin(), seats().end(), [now](const auto& entry) {
    const Seat& seat = entry.second;
    if (seat.left) return now - *seat.left > kLeaveGrace || seat.report == nullptr;
    return seat.report != nullptr &&
           (IsDead(seat.report->digest().vitals) || seat.report->digest().vitals.ending);
  });
}

// A mismatch that is known: more members may have come to the call, and it may be over.
void WatchedGroup::Follow(const Around& around, Instant now, Correlator::Actions* actions) {
  judge_ = false;
  if (Gone(now)) return Heal(/*ended=*/true, now, actions);
  const bool waits = std::any_of(seats().begin(), seats().end(), [](const auto& entry) {
    const Report* report = entry.second.report.get();
    return report != nullptr && report->digest().suspect && !IsDead(report->digest().vitals);
  });
  if (!waits && now - differed_at_ >= kOrderSettled &&
      order_.agreed_since() >= kOrderAgreements * seats().size()) {
    return Heal(/*ended=*/false, now, actions);
  }
  bool unanswered = false;
  const Scene scene = Sight(around, now, &unanswered);
  const std::optional<Disagreement> disagreement = CompareCalls(scene, stall_->order_compared + 1);
  if (!disagreement) return;
  stall_->order_compared = disagreement->compared;
  Say(scene, JudgeOrder(scene, *disagreement), now, actions);
}

}  // namespace sentinel
