// The part of WatchedGroup that judges what its members have said, and says it.
#include <algorithm>

#include "correlate/confidence.h"
#include "correlate/evidence_words.h"
#include "correlate/stall.h"

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
    seen.job_rank = seat.member.place.job_rank;
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

}  // namespace sentinel
