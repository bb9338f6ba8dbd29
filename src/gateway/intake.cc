#include "gateway/intake.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
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

}  // namespace

Intake::Intake(boost::asio::io_context& io, Deps deps, std::string id_prefix)
    : deps_(std::move(deps)), id_prefix_(std::move(id_prefix)), timer_(io) {}

Intake::~Intake() { *alive_ = false; }

void Intake::Remember(const std::vector<std::string>& event_ids,
                      const std::vector<std::string>& incidents) {
  // Newest first, as they are stored; the oldest is to be forgotten first.
  for (auto it = event_ids.rbegin(); it != event_ids.rend(); ++it) RememberId(*it, {"", true});
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

void Intake::Take(std::string body, Answer answer) {
  if (AnswerRepeat(body, answer)) return;
  Result<Event> parsed = ParseEvent(body);
  if (!parsed.ok()) {
    return Say(answer, {400, "Bad Request: " + parsed.error().message + "\n"});
  }
  Event event = std::move(*parsed);
  StoredEvent stored;
  stored.received_at = WallNow();
  stored.event_id = event.event_id;
  bool named = !event.event_id.empty();

  if (named) {
    auto known = ids_.find(event.event_id);
    if (known != ids_.end()) {
      deps_.metrics.events_repeated->Increment();
      std::string words = Body(true, known->second.incident, event.event_id);
      if (known->second.durable) return Say(answer, {200, std::move(words)});
      // Counted already, not yet on disk: this one waits for that too.
      stored.incident = known->second.incident;
      stored.event = std::move(event);
      stored.body = std::move(body);
      return Keep(std::move(stored), words, "", {}, std::move(answer));
    }
  } else {
    stored.event_id = id_prefix_ + std::to_string(next_id_++);
  }

  JobPresence presence = deps_.presence(event.node_host);
  IncidentBook::EventOutcome outcome = deps_.book.OnEvent(event, presence, MomentNow());
  (outcome.suppressed ? deps_.metrics.events_suppressed : deps_.metrics.events_accepted)
      ->Increment();
  deps_.turn();

  std::string words = Body(outcome.suppressed, outcome.incident, stored.event_id);
  if (outcome.suppressed && !named && durable_.contains(outcome.incident)) {
    // It changes nothing but a count, and counts are written down now and then.
    return Say(answer, {200, std::move(words)});
  }
  KnownBody known;
  std::string known_body;
  // Where an agent says that no job runs, the same words may be louder in a moment.
  bool steady = presence != JobPresence::kNone;
  if (steady && !named && event.state == EventState::kFiring && !outcome.incident.empty() &&
      body.size() <= kKnownBodyBytesMax) {
    known.incident = outcome.incident;
    const Incident* incident = deps_.book.Find(outcome.incident);
    known.severity = incident == nullptr ? Severity::kP0 : incident->severity;
    known_body = body;
  }
  if (named) RememberId(event.event_id, {outcome.incident, false});
  stored.incident = outcome.incident;
  stored.event = std::move(event);
  stored.body = std::move(body);
  Keep(std::move(stored), words, known_body, std::move(known), std::move(answer));
}

void Intake::Keep(StoredEvent event, const std::string& answer_body, const std::string& known_body,
                  KnownBody known, Answer answer) {
  auto shared = std::make_shared<Answer>(std::move(answer));
  waiting_.push_back({MonotonicNow() + kCommitWaitMax, shared});
  std::string event_id = event.event_id;
  std::string incident = event.incident;
  deps_.keeper.KeepBefore(incident);
  deps_.store.AppendEvent(
      std::move(event), [this, alive = alive_, shared, answer_body, known_body,
                         known = std::move(known), event_id, incident](Status status) {
        if (!*alive) return;
        // The incident was queued before the event: what became of it has been told already.
        if (!status.ok() || !deps_.keeper.kept(incident)) {
          deps_.metrics.events_not_durable->Increment();
          std::string why = status.ok() ? "its incident was refused" : status.error().message;
          return Say(*shared, {503, "not durable: " + why + "\n"});
        }
        auto id = ids_.find(event_id);
        if (id != ids_.end()) id->second.durable = true;
        if (!incident.empty()) {
          if (durable_.size() >= kDurableIncidentsMax) durable_.clear();
          durable_.insert(incident);
        }
        if (!known_body.empty()) {
          if (bodies_.size() >= kKnownBodiesMax) bodies_.clear();
          bodies_.insert_or_assign(known_body, known);
        }
        Say(*shared, {200, answer_body});
      });
  Watch();
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
      Waiting& first = waiting_.front();
      if (*first.answer && first.deadline > now) break;
      if (*first.answer) {
        deps_.metrics.events_not_durable->Increment();
        Say(*first.answer, {503, "not durable: the disk does not answer\n"});
      }
      waiting_.pop_front();
    }
    if (!waiting_.empty()) Watch();
  });
}

}  // namespace sentinel
