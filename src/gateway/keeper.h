// Keeps incidents on disk: every one that changed, soon; every one that only counts, now and then;
// every one the disk refused, again.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "incident/incident_book.h"
#include "store/store.h"

namespace sentinel {

// Documents written by one Tick, besides those that changed.
constexpr size_t kKeptPerTickMax = 1000;

class Keeper {
 public:
  Keeper(IncidentBook& book, Store& store);
  ~Keeper();

  void Keep(const std::vector<std::string>& incidents);
  // Before an event of this incident is stored: if the disk has refused the incident, it is asked
  // again first.
  void KeepBefore(const std::string& incident);
  // False while the disk's last word on it was a refusal.
  bool kept(const std::string& incident) const { return !unsaved_.contains(incident); }
  // About once a second.
  void Tick();

  size_t unsaved() const { return unsaved_.size(); }

 private:
  void Put(const std::string& id);

  IncidentBook& book_;
  Store& store_;
  std::set<std::string> unsaved_;  // at most as many as the book holds
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// What the store has kept, as incidents; documents that cannot be read are named in `corrupt`.
std::vector<Incident> KeptIncidents(const StoreContents& contents,
                                    std::vector<std::string>* corrupt);

}  // namespace sentinel
