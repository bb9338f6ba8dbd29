// A gateway's life around an IncidentBook, for tests.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "incident/incident_book.h"

namespace sentinel {

// A host whose alarms one terminal shows, unless another stands in for it.
inline HostEntry HostShownAt(std::string terminal) {
  HostEntry host;
  host.name = "n1";
  host.terminals = {std::move(terminal)};
  return host;
}

// A clock that is turned by hand, and terminals that answer.
class Floor {
 public:
  explicit Floor(std::vector<std::string> terminals = {"hall"}, std::vector<HostEntry> hosts = {},
                 IncidentPolicy policy = {})
      : book(std::move(policy), Site(std::move(terminals), {}, std::move(hosts))) {}

  Moment now{Instant{std::chrono::seconds(1000)}, WallTime{std::chrono::seconds(1'795'996'334)}};
  IncidentBook book;
  std::vector<Notification> told;  // delivered, in order
  std::vector<Notification> lost;  // handed out while the lamp was down
  std::vector<IncidentBook::Cancel> cancelled;
  bool lamp_up = true;

  void Pass(Duration d) {
    now.mono = now.mono + d;
    now.wall = now.wall + std::chrono::duration_cast<std::chrono::milliseconds>(d);
    book.Advance(now);
    Deliver();
  }
  void Deliver() {
    for (IncidentBook::Actions actions = book.TakeActions();
         !actions.notifications.empty() || !actions.cancels.empty(); actions = book.TakeActions()) {
      for (auto& cancel : actions.cancels) cancelled.push_back(cancel);
      for (Notification& n : actions.notifications) {
        if (!lamp_up) {
          lost.push_back(n);
          continue;
        }
        book.OnAttempt(n.id);
        n.message = book.Picture(n);
        book.OnDelivered(n.id, now);
        told.push_back(n);
      }
    }
  }
  IncidentBook::EventOutcome Post(const Event& event) {
    auto outcome = book.OnEvent(event, JobPresence::kUnknown, now);
    Deliver();
    return outcome;
  }
  void Judge(const Verdict& verdict) {
    book.OnVerdict(verdict, now);
    Deliver();
  }
  // It moves, and goes on moving.
  void Heal(Verdict verdict) {
    verdict.stage = VerdictStage::kHealed;
    Judge(verdict);
    if (!verdict.ended) Pass(IncidentPolicy().recovery_hold);
  }
};

inline Event Make(std::string type, std::string host = "gpu-worker-08-5f7c9d8b4a",
                  std::optional<int> gpu = std::nullopt) {
  Event event;
  event.cluster_rack = "A03";
  event.node_host = std::move(host);
  event.event_type = std::move(type);
  event.gpu_index = gpu;
  return event;
}

inline Verdict Hang(VerdictStage stage, HangClass hang_class, std::string host = "n2",
                    Rank rank = 2) {
  Verdict v;
  v.comm = {"job-1", 0x39236b6fe26e2058, 4};
  v.epoch = 1;
  v.stage = stage;
  v.hang_class = hang_class;
  if (!host.empty()) {
    v.culprit.rank = rank;
    v.culprit.place.host = host;
  }
  v.stalled = std::chrono::milliseconds(1600);
  return v;
}

// Two hosts that stand in racks.
inline std::vector<HostEntry> Racks() {
  HostEntry a;
  a.name = "n2";
  a.rack = "A03";
  HostEntry b;
  b.name = "n3";
  b.rack = "A04";
  return {a, b};
}

// How many of what was told made a sound.
inline size_t Spoken(const Floor& floor) {
  size_t spoken = 0;
  for (const Notification& n : floor.told) spoken += n.message.audio_mode != AudioMode::kOff;
  return spoken;
}

}  // namespace sentinel
