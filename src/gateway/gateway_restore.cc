// What the gateway takes over from the last process, and what it keeps for the next.
#include <spdlog/spdlog.h>

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "gateway/gateway_on_loop.h"
#include "wire/event_json.h"

namespace sentinel {
namespace {

constexpr const char* kProvenNote = "v2/";  // + terminal: it has answered with signature v2
constexpr const char* kBootNote = "boot/";  // + terminal: the life of it that was last spoken to

}  // namespace

void GatewayOnLoop::Restore() {
  const StoreContents contents = Loaded();
  std::vector<std::string> corrupt;
  std::vector<Incident> incidents = KeptIncidents(contents, &corrupt);
  for (const std::string& id : corrupt) {
    spdlog::error("event=incident_unreadable id={} what=\"its document is left out\"", id);
  }
  const size_t count = incidents.size() + contents.begun_incidents.size();
  const Moment now = MomentNow();
  notes_.RestoreSilences(contents.notes, now);
  notes_.RestoreFlaps(contents.notes, now);
  RestoreIncidents(std::move(incidents), contents, now);
  notes_.RestoreMutes(contents.notes, now);
  notes_.RestoreDigest(contents.notes, now);
  RestoreTerminals(contents.notes);
  FollowTerminals();
  spdlog::info("event=restored incidents={} open={} event_ids={}", count, book_.open(),
               contents.event_ids.size());
}

// A disk that cannot even be read keeps no alarm from ringing.
StoreContents GatewayOnLoop::Loaded() {
  Result<StoreContents> contents = store_->Load();
  if (contents.ok()) return std::move(*contents);
  spdlog::error(
      "event=store_unread why=\"{}\" what=\"incidents and event ids of before this start are not "
      "known; alarms ring from memory\"",
      contents.error().message);
  StoreContents nothing;
  // Above every number that may be in it.
  nothing.begun_last = static_cast<uint64_t>(WallNow().since_epoch.count());
  return nothing;
}

// Those that are kept, and those of which nothing is but the event that began them.
void GatewayOnLoop::RestoreIncidents(std::vector<Incident> incidents, const StoreContents& contents,
                                     Moment now) {
  std::vector<std::string> ids;
  for (const Incident& incident : incidents) ids.push_back(incident.id);
  book_.Restore(std::move(incidents), BootId(), now);
  keeper_.Resume(contents.begun_last);
  for (const BegunIncident& begun : contents.begun_incidents) {
    Result<Event> event = ParseEvent(begun.body);
    if (!event.ok()) {
      spdlog::error("event=event_unreadable incident={} why=\"{}\"", begun.id,
                    event.error().message);
      continue;
    }
    book_.Rebegin(*event, begun.occurrence, begun.received_at, now);
    if (book_.Find(begun.id) == nullptr) continue;
    keeper_.ResumeTurn(begun.id, begun.begun);
    ids.push_back(begun.id);
  }
  intake_.Remember(contents.event_ids, ids);
}

void GatewayOnLoop::RestoreTerminals(const BookNotes::Notes& notes) {
  for (const auto& [name, value] : notes) {
    if (name.starts_with(kBootNote)) {
      deliveries_.RememberBoot(name.substr(std::string(kBootNote).size()), value);
    } else if (name.starts_with(kProvenNote)) {
      RestoreProven(name.substr(std::string(kProvenNote).size()));
    } else if (name.starts_with(kTestNote)) {
      tests_.Resume(name.substr(std::string(kTestNote).size()), value);
    }
  }
}

void GatewayOnLoop::RestoreProven(const std::string& terminal) {
  deliveries_.RememberProven(terminal);
  auto keys = keys_.find(terminal);
  if (keys != keys_.end()) authenticator_.RememberProven(keys->second);
}

void GatewayOnLoop::FollowTerminals() {
  deliveries_.OnOutcome([this](const Outbox::Outcome& outcome) { tests_.OnOutcome(outcome); });
  deliveries_.OnBoot([this](const std::string& terminal, const std::string& boot_id) {
    Turn();  // what is sent again is queued for the disk first
    store_->PutNote({kBootNote + terminal, boot_id}, {});
  });
  deliveries_.OnProven([this](const std::string& terminal) {
    spdlog::info("event=terminal_signs_v2 terminal={} what=\"v1 alone is not believed any more\"",
                 terminal);
    RestoreProven(terminal);
    store_->PutNote({kProvenNote + terminal, "yes"}, {});
  });
}

}  // namespace sentinel
