#include "gateway/keeper.h"

#include <algorithm>

#include "base/clock.h"
#include "web/incident_json.h"

namespace sentinel {
namespace {

// A closed one with something still to be told is not done with.
bool NeededAtStart(const Incident& incident) {
  return incident.state != IncidentState::kClosed || AnyPending(incident);
}

// Thousands have their turn at a time: they are written down where they are stored.
Store::Document DocumentOf(const Incident& incident, const std::string& boot) {
  return [incident, boot] { return WriteIncidentDocument(incident, boot); };
}

// What differs from one to the next are its notifications and its lists.
size_t BytesOf(const Incident& incident) {
  size_t bytes = sizeof(Incident) + incident.identity.size() + incident.text.size();
  bytes += incident.suspects.size() * sizeof(Suspect);
  for (const EvidenceLine& line : incident.evidence) {
    bytes += sizeof(EvidenceLine) + line.zh.size() + line.en.size();
  }
  for (const NotificationRecord& record : incident.notifications) {
    bytes += sizeof(NotificationRecord) + record.notification.message.text.size();
  }
  return bytes;
}

}  // namespace

Keeper::Keeper(IncidentBook& book, Store& store) : book_(book), store_(store), boot_(BootId()) {}
Keeper::~Keeper() { *alive_ = false; }

void Keeper::Keep(const std::vector<std::string>& incidents) {
  for (const std::string& id : incidents) Put(id);
}

void Keeper::KeepBefore(const std::string& incident) {
  if (!kept(incident)) Put(incident);
}

uint64_t Keeper::Begun(const std::string& incident) {
  AwaitTurn({++begun_last_, incident});
  return begun_last_;
}

void Keeper::ResumeTurn(const std::string& incident, uint64_t begun) {
  AwaitTurn({begun, incident});
}

void Keeper::KeepLater(const std::vector<std::string>& incidents) {
  for (const std::string& id : incidents) {
    if (!waiting_.contains(id)) AwaitTurn({0, id});
  }
}

void Keeper::AwaitTurn(Turn turn) {
  if (turns_.size() >= kTurnsMax) {
    std::erase_if(turns_, [this](const Turn& old) {
      if (book_.Find(old.incident) != nullptr) return false;
      waiting_.erase(old.incident);
      return true;
    });
  }
  waiting_.insert(turn.incident);
  turns_.push_back(std::move(turn));
}

// The oldest first, and no more before those of the last time are on disk.
void Keeper::TakeTurns() {
  if (puts_answered_ < puts_of_turns_ || !unsaved_.empty()) return;
  if (begun_taken_ > begun_noted_) {
    begun_noted_ = begun_taken_;
    store_.PutNote({kBegunKeptNote, std::to_string(begun_noted_)}, {});
  }
  for (size_t kept = 0; kept < kKeptPerTickMax && !turns_.empty();) {
    Turn turn = std::move(turns_.front());
    turns_.pop_front();
    begun_taken_ = std::max(begun_taken_, turn.begun);
    if (!waiting_.contains(turn.incident)) continue;  // it changed, and was written for that
    if (book_.Find(turn.incident) != nullptr) ++kept;
    waiting_.erase(turn.incident);
    Put(turn.incident);
  }
  puts_of_turns_ = puts_;
}

void Keeper::Put(const std::string& id) {
  const Incident* incident = book_.Find(id);
  if (incident == nullptr) return;
  waiting_.erase(id);
  ++puts_;
  store_.PutIncident(id, DocumentOf(*incident, boot_), BytesOf(*incident), NeededAtStart(*incident),
                     [this, alive = alive_, id](const Status& status) {
                       if (!*alive) return;
                       ++puts_answered_;
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
  TakeTurns();
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
