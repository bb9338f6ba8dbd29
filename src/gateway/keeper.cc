#include "gateway/keeper.h"

#include <algorithm>

#include "web/incident_json.h"

namespace sentinel {
namespace {

// A closed one with something still to be told is not done with.
bool NeededAtStart(const Incident& incident) {
  if (incident.state != IncidentState::kClosed) return true;
  return std::any_of(
      incident.notifications.begin(), incident.notifications.end(),
      [](const NotificationRecord& record) { return record.state == NotificationState::kPending; });
}

}  // namespace

Keeper::Keeper(IncidentBook& book, Store& store) : book_(book), store_(store) {}
Keeper::~Keeper() { *alive_ = false; }

void Keeper::Keep(const std::vector<std::string>& incidents) {
  for (const std::string& id : incidents) Put(id);
}

void Keeper::KeepBefore(const std::string& incident) {
  if (!kept(incident)) Put(incident);
}

void Keeper::Put(const std::string& id) {
  const Incident* incident = book_.Find(id);
  if (incident == nullptr) return;
  store_.PutIncident(id, WriteIncidentDocument(*incident), NeededAtStart(*incident),
                     [this, alive = alive_, id](const Status& status) {
                       if (!*alive) return;
                       if (status.ok()) {
                         unsaved_.erase(id);
                       } else {
                         unsaved_.insert(id);
                       }
                     });
}

void Keeper::Tick() {
  std::vector<std::string> again;
  for (const std::string& id : unsaved_) {
    if (again.size() >= kKeptPerTickMax) break;
    again.push_back(id);
  }
  for (const std::string& id : again) {
    // One that the book has forgotten cannot be kept any more.
    if (book_.Find(id) == nullptr) unsaved_.erase(id);
    Put(id);
  }
  Keep(book_.TakeCounted(kKeptPerTickMax));
}

std::vector<Incident> KeptIncidents(const StoreContents& contents,
                                    std::vector<std::string>* corrupt) {
  std::vector<Incident> incidents;
  auto take = [&](const StoredIncident& stored) {
    Result<Incident> incident = ParseIncidentDocument(stored.document);
    if (incident.ok()) {
      incidents.push_back(std::move(*incident));
    } else {
      corrupt->push_back(stored.id);
    }
  };
  // Oldest first, as they happened.
  for (auto it = contents.closed_incidents.rbegin(); it != contents.closed_incidents.rend(); ++it) {
    take(*it);
  }
  for (const StoredIncident& stored : contents.open_incidents) take(stored);
  return incidents;
}

}  // namespace sentinel
