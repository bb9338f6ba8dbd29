#include "correlate/stall.h"

#include <algorithm>
#include <set>

#include "correlate/evidence_words.h"

namespace sentinel {

namespace {

// Whether a stall of this class that moves again and again is slow rather than stuck. Who is late
// is late.
bool CanBeSlow(HangClass hang_class) {
  switch (hang_class) {
    case HangClass::kGpuStuck:
    case HangClass::kProxyStuck:
    case HangClass::kNetwork:
    case HangClass::kPcie:
    case HangClass::kProcessStopped:
    case HangClass::kUnknown:
    case HangClass::kSlow:
      return true;
    case HangClass::kNotEntered:
    case HangClass::kGpuNotStarted:
    case HangClass::kMismatch:
    case HangClass::kProcessDead:
    case HangClass::kWaiting:
      return false;
  }
  return false;
}

void NameNobody(Judgement* judgement) {
  if (judgement->hang_class == HangClass::kProcessDead ||
      judgement->hang_class == HangClass::kProcessStopped || judgement->disagreement ||
      judgement->elsewhere.all) {
    return;
  }
  judgement->finding.rank.reset();
  judgement->finding.suspects.clear();
  judgement->finding.edges.clear();
  judgement->hang_class = HangClass::kUnknown;
  judgement->signature.reset();
}

}  // namespace

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

Scene WatchedGroup::Sight(const Around& around, Instant now, bool* unanswered) {
  int32_t nodes = 0;
  for (const auto& [rank, seat] : seats()) nodes = std::max(nodes, seat.member.nodes);
  Scene scene(key().nranks, nodes);
  scene.Reserve(seats().size());
  scene.mixed = carries_p2p_;
  *unanswered = false;
  for (const auto& [rank, seat] : seats()) {
    Scene::Seat seen;
    seen.rank = rank;
    seen.report = seat.report.get();
    const bool dead = seat.report != nullptr && IsDead(seat.report->digest().vitals);
    seen.silent = around.silence(seat) >= around.options->agent_silent_after;
    // Death is the last word on a rank; whatever else it said is worth what its agent is worth now.
    if (!dead && (seen.silent || seat.left)) seen.report = nullptr;
    if (seen.report == nullptr && !seen.silent) *unanswered = true;
    if (seat.left && !dead && now - *seat.left > kLeaveGrace) continue;
    scene.Add(seen);
  }
  return scene;
}

bool WatchedGroup::Equal(const Scene& scene, const Finding& finding, const Around& around) const {
  // Of a Send or Recv only its parties count: other pairs go on.
  const bool pair = scene.op && IsP2p(scene.op->func);
  const auto party = [&finding](Rank rank) {
    const auto in = [rank](const Edge& e) { return e.from == rank || e.to == rank; };
    return finding.rank == rank || finding.waiter == rank ||
           std::find(finding.suspects.begin(), finding.suspects.end(), rank) !=
               finding.suspects.end() ||
           std::any_of(finding.edges.begin(), finding.edges.end(), in);
  };
  bool any = false;
  // Of one moment: what one member said now and what another said a round ago do not go together.
  Instant newest{};
  for (const Scene::Seat& seat : scene.seats()) {
    if (seat.report != nullptr) newest = std::max(newest, seat.report->arrived());
  }
  for (const Scene::Seat& seat : scene.seats()) {
    if (seat.report == nullptr) continue;
    if (newest - seat.report->arrived() > around.options->confirm_apart &&
        !IsDead(seat.report->digest().vitals)) {
      return false;
    }
    const bool dead = IsDead(seat.report->digest().vitals);
    // A rank that is past the operation may go on with others.
    if (pair ? !party(seat.rank)
             : !dead && scene.op && scene.StandingOf(seat) == sentinel::Standing::kFinished) {
      continue;
    }
    if (!dead && seat.report->Unchanged() < around.options->confirm_apart) return false;
    any = true;
  }
  return any;
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

void WatchedGroup::JudgeNow(const Around& around, Instant now, Correlator::Actions* actions) {
  judge_ = false;
  Stall& stall = *stall_;
  stall.red_at.reset();

  // Whether it still is a stall. Only members that are heard can say so.
  size_t suspect = 0;
  size_t unheard = 0;
  size_t present = 0;
  bool moved = false;
  for (auto& [rank, seat] : seats()) {
    const bool left = seat.left.has_value();
    const bool dead = seat.report != nullptr && IsDead(seat.report->digest().vitals);
    if (!left && !dead) ++present;
    if (left && now - *seat.left <= kLeaveGrace && !dead) ++present;
    if (seat.report == nullptr || dead || left) continue;
    const Digest& d = seat.report->digest();
    if (seat.report->moves() > seat.judged_moves) {
      moved = true;
      seat.judged_moves = seat.report->moves();
    }
    if (!d.suspect || d.phase == Phase::kBetween) continue;
    if (around.silence(seat) >= around.options->agent_silent_after) {
      ++unheard;
    } else {
      ++suspect;
    }
  }
  if (suspect > 0) stall.suspected = now;
  if (present == 0) return Heal(true, now, actions);

  bool subject_moved = false;
  if (stall.subject) {
    const Seat* seat = Find(*stall.subject);
    if (seat != nullptr && seat->report != nullptr && seat->report->moves() > stall.subject_moves) {
      subject_moved = true;
      stall.moved = now - seat->report->Stalled(now);
      stall.subject_moves = seat->report->moves();
      ++stall.slow_moves;
    }
  }
  const bool slow =
      stall.slow_moves >= kSlowMovesMin && stall.moved && now - *stall.moved <= kSlowPause;
  if (stall.stage == VerdictStage::kRed && subject_moved) return Heal(false, now, actions);
  if (suspect == 0 && unheard == 0 && (!slow || now - stall.suspected > kWatchAfterHeal)) {
    return Heal(!moved && !slow, now, actions);
  }

  bool unanswered = false;
  Scene scene = Sight(around, now, &unanswered);
  const PlaceOf place_of = [this](Rank rank) -> const Place* {
    const Seat* seat = Find(rank);
    return seat == nullptr ? nullptr : &seat->member.place;
  };
  const SilenceOf silence_of = [this, &around](Rank rank) {
    const Seat* seat = Find(rank);
    return seat == nullptr ? Duration{0} : around.silence(*seat);
  };
  const FollowJob follow = [this, &around](const Scene& seen, Finding* finding) {
    return around.follow(*this, seen, finding);
  };
  Judgement judgement =
      Judge(&scene, *around.options, *around.facts, place_of, silence_of, follow, now);
  if (slow && judgement.limit && CanBeSlow(judgement.hang_class)) {
    judgement.signature = judgement.hang_class;
    judgement.hang_class = HangClass::kSlow;
    if (judgement.hold == Hold::kWorks || judgement.hold == Hold::kHistory) {
      judgement.hold = Hold::kNone;
    }
  }

  if (judgement.subject != stall.subject) {
    stall.subject = judgement.subject;
    const Seat* seat = stall.subject ? Find(*stall.subject) : nullptr;
    stall.subject_moves = seat != nullptr && seat->report != nullptr ? seat->report->moves() : 0;
  }

  if (judgement.limit && stall.stage != VerdictStage::kRed && around.shown(*this, judgement)) {
    judgement.hold = Hold::kShown;
    judgement.limit.reset();
  }

  const Finding whole = judgement.finding;
  // Communicators are asked at different moments. Who is blamed for not having come is named once
  // all of its others have been heard since it first was.
  bool hasty = false;
  if (judgement.elsewhere.looked && judgement.finding.rank) {
    if (stall.blamed != judgement.finding.rank) {
      stall.blamed = judgement.finding.rank;
      stall.blamed_since = now;
    }
    hasty = *judgement.elsewhere.looked <= stall.blamed_since;
  } else {
    stall.blamed.reset();
  }

  const bool patient = unanswered && now - stall.opened < kAnswerPatience;
  // Half the picture makes victims look guilty, and so does one that moves while it is taken.
  if (patient || hasty || (slow && judgement.clock < kStillMin)) {
    NameNobody(&judgement);
    judgement.limit.reset();
  }
  const bool equal = Equal(scene, whole, around);
  const bool known = stall.said && stall.said->hang_class == judgement.hang_class &&
                     stall.said->culprit.rank == judgement.finding.rank &&
                     stall.said->suspects == judgement.finding.suspects;
  if (stall.stage != VerdictStage::kSuspected && stall.said && !known && !equal) {
    return;  // what is seen of something that moves again may look like anything
  }
  if (stall.stage == VerdictStage::kRed && judgement.elsewhere.all) {
    return;  // it is about to end: what was said stands
  }
  if (stall.stage == VerdictStage::kSuspected && !patient && equal) {
    stall.stage = VerdictStage::kConfirmed;
  }
  if (stall.stage == VerdictStage::kConfirmed && judgement.limit &&
      judgement.hang_class != HangClass::kSlow) {
    // Nothing is red on what has not been heard lately: we may have been asleep ourselves.
    const Seat* seat = stall.subject ? Find(*stall.subject) : nullptr;
    const bool fresh = seat == nullptr || seat->report == nullptr ||
                       now - seat->report->arrived() < around.options->agent_silent_after;
    if (judgement.clock >= *judgement.limit) {
      if (fresh) stall.stage = VerdictStage::kRed;
    } else {
      stall.red_at = now + (*judgement.limit - judgement.clock);
    }
  }
  // A late rank that went red as such does not become one that merely waits.
  if (stall.stage == VerdictStage::kRed && stall.said && stall.said->stage == VerdictStage::kRed &&
      stall.said->hang_class == HangClass::kNotEntered &&
      judgement.hang_class == HangClass::kWaiting &&
      stall.said->culprit.rank == judgement.finding.rank) {
    judgement.hang_class = HangClass::kNotEntered;
    judgement.signature.reset();
  }
  stall.clock_from = now - judgement.clock;
  Say(scene, judgement, now, actions);
}

void WatchedGroup::Say(const Scene& scene, const Judgement& judgement, Instant now,
                       Correlator::Actions* actions) {
  Stall& stall = *stall_;
  Verdict v;
  v.comm = key();
  v.epoch = stall.epoch;
  v.stage = stall.stage;
  v.hang_class = judgement.hang_class;
  v.signature = judgement.signature;
  v.culprit.rank = judgement.finding.rank;
  v.culprit.nic = judgement.facts.nic;
  if (!judgement.finding.edges.empty()) v.culprit.edge = judgement.finding.edges.front();
  v.suspects = judgement.finding.suspects;
  v.op = judgement.finding.op;
  v.stalled = now - stall.clock_from;
  v.confidence = Confidence(scene, judgement, stall.stage != VerdictStage::kSuspected);
  v.evidence = Explain(scene, judgement);

  std::vector<Rank> named = v.suspects;
  if (v.culprit.rank) AddOnce(&named, *v.culprit.rank);
  if (v.culprit.edge) {
    AddOnce(&named, v.culprit.edge->from);
    AddOnce(&named, v.culprit.edge->to);
  }
  std::sort(named.begin(), named.end());
  for (Rank rank : named) {
    const Seat* seat = Find(rank);
    if (seat == nullptr) continue;
    v.members.push_back(seat->member);
    if (v.culprit.rank == rank) v.culprit.place = seat->member.place;
  }

  const auto same = [](const Verdict& a, const Verdict& b) {
    return a.stage == b.stage && a.hang_class == b.hang_class && a.signature == b.signature &&
           a.culprit.rank == b.culprit.rank && a.culprit.place == b.culprit.place &&
           a.culprit.nic == b.culprit.nic && a.culprit.edge == b.culprit.edge &&
           a.suspects == b.suspects && a.evidence == b.evidence;
  };
  const bool news = !stall.said || !same(*stall.said, v);
  stall.said = v;
  if (news) actions->verdicts.push_back(std::move(v));
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
