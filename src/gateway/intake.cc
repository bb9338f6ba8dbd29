#include "gateway/intake.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/digest.h"
#include "incident/identity.h"
#include "incident/speech_text.h"
#include "web/json_writer.h"
#include "wire/event_json.h"

namespace sentinel {
namespace {

constexpr auto kWatchEvery = std::chrono::milliseconds(250);

std::string Quoted(const std::string& text) {
  JsonWriter writer;
  writer.Text(text);
  return std::move(writer).Take();
}

// What makes a report the same once more: its sender's id, whether it fires or resolves, and what
// it is about. Many a sender gives the end the id of the beginning, or counts its ids anew on every
// host.
std::string EventKey(const Event& event) {
  if (event.event_id.empty()) return "";
  const std::string& id = event.event_id;
  std::string identity =
      EventIdentity(event, SpokenRack(event.cluster_rack), IdentityHost(event.node_host));
  return (id.size() <= kEventIdBytesMax ? id : Sha256Hex(id)) +
         (event.state == EventState::kFiring ? " firing " : " resolved ") +
         Sha256Hex(identity).substr(0, 16);
}

}  // namespace

Intake::Intake(boost::asio::io_context& io, Deps deps, std::string id_prefix)
    : deps_(std::move(deps)), id_prefix_(std::move(id_prefix)), timer_(io) {}

Intake::~Intake() { *alive_ = false; }

void Intake::Remember(const std::vector<KeptEventId>& event_ids,
                      const std::vector<std::string>& incidents) {
  // Newest first, as they are stored; the oldest is to be forgotten first.
  for (auto it = event_ids.rbegin(); it != event_ids.rend(); ++it) {
    RememberId(it->event_id, {it->incident, true});
  }
  durable_.insert(incidents.begin(), incidents.end());
}

void Intake::RememberId(const std::string& id, KnownId known) {
  if (!ids_.insert_or_assign(id, std::move(known)).second) return;
  id_order_.push_back(id);
  if (id_order_.size() > kEventIdsMax) {
    ids_.erase(id_order_.front());
    id_order_.pop_front();
  }
}

std::string Intake::Body(bool suppressed, const std::string& incident,
                         const std::string& event_id) {
  std::string body =
      suppressed ? R"({"status":"suppressed","incident":)" : R"({"status":"accepted","incident":)";
  body += incident.empty() ? "null" : '"' + incident + '"';
  body += ",\"event_id\":";
  body += Quoted(event_id);
  body += '}';
  return body;
}

void Intake::Say(Answer& answer, IntakeAnswer what) {
  if (!answer) return;
  deps_.metrics.Answered(what.status);
  std::exchange(answer, {})(std::move(what));
}

// The same bytes mean the same event. Where the book would only count it, nothing else needs to be
// asked again; where it would not, the long way is gone.
bool Intake::AnswerRepeat(const std::string& body, Answer& answer) {
  if (body.size() > kKnownBodyBytesMax) return false;
  auto it = bodies_.find(body);
  if (it == bodies_.end()) return false;
  const KnownBody& known = it->second;
  if (!deps_.book.CountRepeat(known.incident, known.severity, MomentNow())) {
    bodies_.erase(it);
    return false;
  }
  deps_.metrics.events_suppressed->Increment();
  Say(answer, {200, Body(true, known.incident, id_prefix_ + std::to_string(next_id_++))});
  return true;
}

// Of what has come twice: most that comes once never comes again.
void Intake::RememberBody(std::string body, const IncidentBook::EventOutcome& outcome) {
  const Incident* incident = deps_.book.Find(outcome.incident);
  if (incident == nullptr || body.size() > kKnownBodyBytesMax) return;
  if (bodies_.size() >= kKnownBodiesMax) bodies_.clear();
  bodies_.insert_or_assign(std::move(body), KnownBody{outcome.incident, incident->severity});
}

void Intake::Take(std::string body, Answer answer) {
  if (AnswerRepeat(body, answer)) return;
  Result<Event> parsed = ParseEvent(body);
  if (!parsed.ok()) {
    return Say(answer, {400, "Bad Request: " + parsed.error().message + "\n"});
  }
  Event event = std::move(*parsed);
  StoredEvent stored;
  stored.received_at = WallNow();
  stored.event_id = EventKey(event);
  bool named = stored.named = !event.event_id.empty();
  auto waiting = std::make_shared<Waiting>();

  bool news = false;
  if (named) {
    auto known = ids_.find(stored.event_id);
    // An Alertmanager keeps an alert's beginning, and so its id, where contact to whoever evaluates
    // it was lost in between: it said "resolved", and says "firing" again.
    news = known != ids_.end() && event.ends_only_this &&
           !deps_.book.Agrees(event, known->second.incident);
    if (known != ids_.end() && !news) {
      deps_.metrics.events_repeated->Increment();
      deps_.book.Renew(event, MomentNow());
      waiting->words = Body(true, known->second.incident, event.event_id);
      if (known->second.durable) return Say(answer, {200, std::move(waiting->words)});
      // Counted already, not yet on disk: this one waits for that too.
      stored.incident = known->second.incident;
      stored.event = std::move(event);
      stored.body = std::move(body);
      waiting->answer = std::move(answer);
      return Keep(std::move(stored), std::move(waiting));
    }
  } else {
    stored.event_id = id_prefix_ + std::to_string(next_id_++);
  }

  JobPresence presence = deps_.presence(event.node_host);
  IncidentBook::EventOutcome outcome = deps_.book.OnEvent(event, presence, MomentNow());
  (outcome.suppressed ? deps_.metrics.events_suppressed : deps_.metrics.events_accepted)
      ->Increment();
  // Where an agent says that no job runs, the same words may be louder in a moment, or after a
  // restart. What comes again under its old id has its row already.
  bool steady = presence != JobPresence::kNone && !news;
  if (outcome.begun && steady) {
    stored.begun = deps_.keeper.Begun(outcome.incident);
    stored.occurrence = outcome.occurrence;
    waiting->begun = true;
    deps_.turn_soon();
  } else {
    // What it changed is queued for the disk before it is.
    if (outcome.begun) deps_.keeper.Keep({outcome.incident});
    if (!outcome.suppressed) deps_.turn();
  }

  waiting->words =
      Body(outcome.suppressed, outcome.incident, named ? event.event_id : stored.event_id);
  if (outcome.suppressed && !named && durable_.contains(outcome.incident)) {
    // It changes nothing but a count, and counts are written down now and then.
    if (steady && event.state == EventState::kFiring) RememberBody(std::move(body), outcome);
    return Say(answer, {200, std::move(waiting->words)});
  }
  if (named) RememberId(stored.event_id, {outcome.incident, false});
  stored.incident = std::move(outcome.incident);
  stored.event = std::move(event);
  stored.body = std::move(body);
  waiting->answer = std::move(answer);
  Keep(std::move(stored), std::move(waiting));
}

void Intake::Keep(StoredEvent event, std::shared_ptr<Waiting> waiting) {
  waiting->deadline = MonotonicNow() + kCommitWaitMax;
  waiting->event_id = event.event_id;
  waiting->incident = event.incident;
  waiting_.push_back(waiting);
  waiting->ends =
      event.event.state == EventState::kResolved || event.event.event_type == "RECOVERED";
  if (!waiting->begun) deps_.keeper.KeepBefore(event.incident);
  deps_.store.AppendEvent(
      std::move(event), [this, alive = alive_, waiting = std::move(waiting)](const Status& status) {
        if (*alive) Kept(*waiting, status);
      });
  Watch();
}

void Intake::Kept(Waiting& waiting, const Status& status) {
  if (!status.ok() && waiting.begun) deps_.keeper.BegunInVain(waiting.incident);
  // Whatever was queued before the event has been told before it: the event that began the
  // incident, or the incident itself. An end that comes again finds nothing open any more. What it
  // ended is to be on disk all the same, or the next start would open it again: until then its
  // sender repeats it.
  const bool open_on_disk = waiting.ends && deps_.keeper.unsaved() > 0;
  if (!status.ok() || !deps_.keeper.kept(waiting.incident) || open_on_disk) {
    deps_.metrics.events_not_durable->Increment();
    std::string why = status.ok() ? "its incident was refused" : status.error().message;
    return Say(waiting.answer, {503, "not durable: " + why + "\n"});
  }
  auto id = ids_.find(waiting.event_id);
  if (id != ids_.end()) id->second.durable = true;
  if (!waiting.incident.empty()) {
    if (durable_.size() >= kDurableIncidentsMax) durable_.clear();
    durable_.insert(waiting.incident);
  }
  Say(waiting.answer, {200, std::move(waiting.words)});
}

void Intake::Watch() {
  if (watching_) return;
  watching_ = true;
  timer_.expires_after(kWatchEvery);
  timer_.async_wait([this, alive = alive_](boost::system::error_code error) {
    if (error || !*alive) return;
    watching_ = false;
    Instant now = MonotonicNow();
    while (!waiting_.empty()) {
      Waiting& first = *waiting_.front();
      if (first.answer && first.deadline > now) break;
      if (first.answer) {
        deps_.metrics.events_not_durable->Increment();
        Say(first.answer, {503, "not durable: the disk does not answer\n"});
      }
      waiting_.pop_front();
    }
    if (!waiting_.empty()) Watch();
  });
}

}  // namespace sentinel
