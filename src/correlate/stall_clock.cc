#include "correlate/stall_clock.h"

#include <algorithm>

namespace sentinel {
namespace {

// The age of one rank, or of the blamed edge where its receiver says one.
std::optional<Duration> EdgeClock(const Scene& scene, const Edge& edge, Instant now) {
  const Report* to = scene.Of(edge.to);
  if (to == nullptr) return std::nullopt;
  std::optional<Duration> clock;
  for (const EdgeProgress& e : to->digest().edges) {
    if (e.direction != Direction::kRecv || e.peer != edge.from || e.done >= e.steps) continue;
    const Duration age = to->Stalled(e, now);
    clock = clock ? std::min(*clock, age) : age;
  }
  return clock ? clock : to->Stalled(now);
}

// Since anybody who waits last saw something move.
Duration YoungestWait(const Scene& scene, Instant now, std::optional<Rank>* subject) {
  std::optional<Duration> youngest;
  for (const Scene::Seat& seat : scene.seats()) {
    if (seat.report == nullptr || IsDead(seat.report->digest().vitals)) continue;
    const Standing standing = scene.StandingOf(seat);
    const bool waits = scene.op ? standing == Standing::kInside || standing == Standing::kEnqueued
                                : seat.report->digest().suspect;
    if (!waits) continue;
    const Duration age = seat.report->Stalled(now);
    if (!youngest || age < *youngest) {
      youngest = age;
      *subject = seat.rank;
    }
  }
  return youngest.value_or(Duration{0});
}

// What stands still is inside the operation, but which of several ranks it is nobody sees.
bool OneOfThoseInside(const Finding& f) {
  return !f.rank && !f.suspects.empty() &&
         (f.hang_class == HangClass::kGpuStuck || f.hang_class == HangClass::kUnknown);
}

// A transfer between two ranks that is judged by what stands in it: it moves as long as either end
// does. A sender by itself shows no receive, and what the receiver waits for may just have been
// sent. An end that is through with it does not count.
std::optional<Duration> PairClock(const Scene& scene, const Finding& f, Instant now,
                                  std::optional<Rank>* subject) {
  switch (f.hang_class) {
    case HangClass::kGpuStuck:
    case HangClass::kProxyStuck:
    case HangClass::kPcie:
    case HangClass::kUnknown:
      break;
    case HangClass::kNotEntered:
    case HangClass::kGpuNotStarted:
    case HangClass::kNetwork:
    case HangClass::kMismatch:
    case HangClass::kProcessDead:
    case HangClass::kProcessStopped:
    case HangClass::kWaiting:
    case HangClass::kSlow:
      return std::nullopt;
  }
  if (!scene.op || !IsP2p(scene.op->func)) return std::nullopt;
  std::vector<Rank> ends = f.suspects;
  if (f.rank) AddOnce(&ends, *f.rank);
  if (f.waiter) AddOnce(&ends, *f.waiter);
  std::optional<Duration> clock;
  for (Rank rank : ends) {
    const Report* report = scene.Of(rank);
    if (report == nullptr || !IsOpen(report->digest())) continue;
    const Operation& op = *report->digest().op;
    if (!IsP2p(op.func) || std::find(ends.begin(), ends.end(), op.peer) == ends.end()) continue;
    const Duration age = report->Stalled(now);
    if (clock && age >= *clock) continue;
    clock = age;
    *subject = rank;
  }
  return clock;
}

}  // namespace

void SetClock(const Scene& scene, Instant now, Judgement* j) {
  const Finding& f = j->finding;
  const bool absent = f.rank && scene.StandingOf(*f.rank) == Standing::kNotEntered;
  if (const std::optional<Duration> clock = PairClock(scene, f, now, &j->subject)) {
    j->clock = *clock;
    return;
  }
  if (f.hang_class == HangClass::kNetwork && !f.edges.empty() && !absent) {
    std::optional<Duration> clock;
    for (const Edge& e : f.edges) {
      // With a culprit only the edges that meet in it count.
      if (f.rank && e.from != *f.rank && e.to != *f.rank) continue;
      std::optional<Duration> age = EdgeClock(scene, e, now);
      if (age && (!clock || *age < *clock)) {
        clock = age;
        j->subject = e.to;
      }
      if (!f.rank) break;
    }
    if (clock) {
      j->clock = *clock;
      // What a Send has just begun to send is not lost yet.
      const Report* sender = scene.Of(f.edges.front().from);
      if (scene.op && IsP2p(scene.op->func) && sender != nullptr) {
        j->clock = std::min(j->clock, sender->Stalled(now));
      }
      return;
    }
  }
  if (f.rank && !absent && scene.Of(*f.rank) != nullptr &&
      scene.StandingOf(*f.rank) != Standing::kFinished) {
    j->subject = f.rank;
    j->clock = scene.Of(*f.rank)->Stalled(now);
    return;
  }
  const bool waiter_tells = !OneOfThoseInside(f) || !f.missing.empty();
  if (waiter_tells && f.waiter && scene.Of(*f.waiter) != nullptr && f.waiter != f.rank) {
    j->subject = f.waiter;
    j->clock = scene.Of(*f.waiter)->Stalled(now);
    return;
  }
  j->clock = YoungestWait(scene, now, &j->subject);
}

Duration LongestSuspicion(const Scene& scene, Rank dead, Instant now, std::optional<Rank>* who) {
  Duration longest{0};
  for (const Scene::Seat& seat : scene.seats()) {
    if (seat.report == nullptr || seat.rank == dead) continue;
    const Digest& d = seat.report->digest();
    if (!d.suspect || IsDead(d.vitals)) continue;
    const Duration since = seat.report->Stalled(now) - d.suspect_after;
    if (since > longest) {
      longest = since;
      *who = seat.rank;
    }
  }
  return longest;
}

}  // namespace sentinel
