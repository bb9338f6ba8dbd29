// Keeps incidents on disk: every one that changed, soon; every one that only counts, now and then;
// every one the disk refused, again.
//
// One that consists of nothing but the event that began it has its turn later: its event is on
// disk, and a restart begins it again from that. In a storm of distinct events this halves what is
// written; the note `begun_kept` says how far the turns have come.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "incident/incident_book.h"
#include "store/store.h"

namespace sentinel {

// Documents of each kind written by one Tick: those that only count, those whose turn has come,
// those the disk refused.
constexpr size_t kKeptPerTickMax = 1000;
// Incidents that wait for their turn; beyond it those the book has forgotten are dropped, which
// leaves at most what the book holds.
constexpr size_t kTurnsMax = 4 * kOpenIncidentsMax;

class Keeper {
 public:
  Keeper(IncidentBook& book, Store& store);
  ~Keeper();

  void Keep(const std::vector<std::string>& incidents);
  // An event has begun this incident, and its row is queued under the number that is returned.
  uint64_t Begun(const std::string& incident);
  // That row is not on disk after all: the incident needs one of its own.
  void BegunInVain(const std::string& incident) { unsaved_.insert(incident); }
  void KeepLater(const std::vector<std::string>& incidents);
  // From the store: the highest number given, and an incident that still waits for its turn.
  void Resume(uint64_t begun_last) { begun_last_ = begun_last; }
  void ResumeTurn(const std::string& incident, uint64_t begun);

  // Before an event of this incident is stored: if the disk has refused the incident, it is asked
  // again first.
  void KeepBefore(const std::string& incident);
  // False while the disk's last word on it was a refusal.
  bool kept(const std::string& incident) const { return !unsaved_.contains(incident); }
  // About once a second.
  void Tick();

  // What the disk has refused and Tick will ask for again.
  size_t unsaved() const { return unsaved_.size(); }

 private:
  struct Turn {
    uint64_t begun = 0;  // 0: its event has been dealt with before
    std::string incident;
  };

  void Put(const std::string& id);
  void AwaitTurn(Turn turn);
  void TakeTurns();

  IncidentBook& book_;
  Store& store_;
  const std::string boot_;
  std::set<std::string> unsaved_;            // at most as many as the book holds
  std::deque<Turn> turns_;                   // `begun` rises
  std::unordered_set<std::string> waiting_;  // of those, the ones not written meanwhile
  uint64_t begun_last_ = 0;
  uint64_t begun_taken_ = 0;  // up to here every turn was taken
  uint64_t begun_noted_ = 0;
  uint64_t puts_ = 0;
  uint64_t puts_answered_ = 0;  // the store answers in order
  uint64_t puts_of_turns_ = 0;  // as many were asked for when the last turns were taken
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// What the store has kept, as incidents; documents that cannot be read are named in `corrupt`.
std::vector<Incident> KeptIncidents(const StoreContents& contents,
                                    std::vector<std::string>* corrupt);

}  // namespace sentinel
