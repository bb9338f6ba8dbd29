// The other ways in: alerts of an Alertmanager, CloudEvents. Both become gpu_events, and are
// answered when all that can be taken of them is durable (docs/formats/ingest.md).
#include <spdlog/spdlog.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "gateway/api_routes.h"
#include "gateway/log_value.h"
#include "gateway/paced_work.h"
#include "wire/cloud_event.h"
#include "wire/event_json.h"

namespace sentinel {
namespace {

constexpr const char* kAlertsPath = "/api/v1/alertmanager";
constexpr std::string_view kRefusal = "Bad Request: ";
// Who sends something wrong sends it again, for hours: one line in so long, of each kind.
constexpr Duration kLogAgainAfter = std::chrono::seconds(10);

// Lines about what others send wrong: the first at once, then one in kLogAgainAfter.
class SparseLines {
 public:
  // Whether to write one now; how many were not written since the last that was.
  bool Due(Instant now, uint64_t* left_out) {
    if (last_ && now - *last_ < kLogAgainAfter) {
      ++left_out_;
      return false;
    }
    last_ = now;
    *left_out = std::exchange(left_out_, 0);
    return true;
  }

 private:
  std::optional<Instant> last_;
  uint64_t left_out_ = 0;
};

// What the routes of this file share.
struct Ingest {
  explicit Ingest(const ApiShared& deps) : api(deps), large(deps->io) {}

  ApiShared api;
  PacedWork large;  // at most large_bodies_max of each server
  SparseLines malformed_alerts;
  SparseLines malformed_events;
  SparseLines unusable_alerts;
  SparseLines alerts_over;
  SparseLines alerts_left_out;
};

// An event of a request, as its sender knows it.
struct Place {
  size_t index = 0;
  std::string name;
};

// The answers to the events of one request, and who waits for all of them.
struct Batch {
  std::shared_ptr<Ingest> ingest;
  Responder responder;
  std::vector<IntakeAnswer> answers;
  std::vector<Place> places;  // of the events the answers are to
  size_t missing = 0;
  Malformed malformed;
  std::string passed_over;  // a JSON array; empty: this request has no such thing
  std::string unusable;     // why the first of those that nobody meant to pass over is no event
  bool alerts = false;
  bool single = false;  // answered as a gpu_event is
};

void TellMalformed(Batch& batch, size_t taken) {
  if (batch.malformed.count == 0) return;
  Ingest& ingest = *batch.ingest;
  const GatewayMetrics& metrics = ingest.api->metrics;
  (batch.alerts ? metrics.malformed_alerts : metrics.malformed_cloud_events)
      ->Increment(static_cast<double>(batch.malformed.count));
  uint64_t more = 0;
  SparseLines& lines = batch.alerts ? ingest.malformed_alerts : ingest.malformed_events;
  if (!lines.Due(MonotonicNow(), &more)) return;
  const MalformedEntry& first = batch.malformed.told.front();
  spdlog::warn("event={} count={} taken={} first={} name={} why={} requests_not_logged={}",
               batch.alerts ? "alerts_malformed" : "cloud_events_malformed", batch.malformed.count,
               taken, first.index, LogValue(first.name), LogValue(first.why), more);
}

std::string ListOf(const Malformed& malformed) {
  OrderedJson refused = OrderedJson::array();
  for (const MalformedEntry& entry : malformed.told) {
    refused.push_back({{"index", entry.index}, {"name", entry.name}, {"why", entry.why}});
  }
  return Dump(refused);
}

// Why a sender repeats nothing that was malformed, and everything that the disk did not take:
// docs/formats/ingest.md.
HttpResponse AnswerOf(Batch& batch) {
  if (batch.single && batch.answers.front().status == 200) {
    return JsonResponse(200, std::move(batch.answers.front().body));
  }
  size_t taken = 0;
  std::string events;
  for (size_t i = 0; i < batch.answers.size(); ++i) {
    const IntakeAnswer& answer = batch.answers[i];
    if (answer.status == 200) {
      events += (taken++ == 0 ? "" : ",") + answer.body;
    } else if (answer.status == 503) {
      HttpResponse response = TextResponse(503, answer.body);
      // What is durable by then counts once, however often all of it is sent.
      response.headers["Retry-After"] = kRetryAfterSeconds;
      return response;
    } else if (batch.single) {
      return TextResponse(answer.status, answer.body);
    } else {
      std::string why = answer.body.substr(0, answer.body.find('\n'));
      if (why.starts_with(kRefusal)) why.erase(0, kRefusal.size());
      batch.malformed.Add(batch.places[i].index, batch.places[i].name, std::move(why));
    }
  }
  TellMalformed(batch, taken);
  if (taken == 0 && batch.malformed.count > 0) {
    return BadRequest("none of these can be used: " + batch.malformed.told.front().why);
  }
  if (taken == 0 && !batch.unusable.empty()) {
    return BadRequest("no alert of these can be used: " + batch.unusable +
                      " ([alerts] in gateway.toml names labels)");
  }
  std::string body = "{\"taken\":" + std::to_string(taken) +
                     ",\"malformed\":" + std::to_string(batch.malformed.count) + ",\"events\":[" +
                     events + "]";
  if (!batch.passed_over.empty()) body += ",\"passed_over\":" + batch.passed_over;
  body += ",\"refused\":" + ListOf(batch.malformed);
  return JsonResponse(200, body + "}");
}

void TakeAll(Intake& intake, const std::vector<Event>& events, std::shared_ptr<Batch> batch) {
  batch->answers.resize(events.size());
  batch->missing = events.size();
  if (events.empty()) return batch->responder->Send(AnswerOf(*batch));
  for (size_t i = 0; i < events.size(); ++i) {
    intake.Take(WriteEvent(events[i]), [batch, i](IntakeAnswer answer) {
      batch->answers[i] = std::move(answer);
      if (--batch->missing == 0) batch->responder->Send(AnswerOf(*batch));
    });
  }
}

// Of well-formed alerts those that become no event: in the answer, counted, and in the log where
// nobody meant it.
class PassedOver {
 public:
  explicit PassedOver(Ingest& ingest) : ingest_(ingest) {}

  void Add(const ReceivedAlert& alert, const MappedAlert& mapped) {
    ++count_;
    list_.push_back({{"fingerprint", alert.fingerprint}, {"why", mapped.why}});
    if (!mapped.lost) return;
    if (unusable_++ > 0) return;
    why_ = mapped.why;
    fingerprint_ = alert.fingerprint;
  }
  // Nobody else would ever say so: its sender does not send them later either.
  void AddLeftOut(size_t count, const std::string& why, SparseLines& lines) {
    if (count == 0) return;
    count_ += count;
    list_.push_back(
        {{"fingerprint", ""}, {"why", std::to_string(count) + " more were left out " + why}});
    uint64_t more = 0;
    if (!lines.Due(MonotonicNow(), &more)) return;
    spdlog::warn("event=alerts_left_out count={} why=\"{}\" requests_not_logged={}", count, why,
                 more);
  }
  void Finish(Batch* batch) {
    ingest_.api->metrics.alerts_passed_over->Increment(static_cast<double>(count_));
    batch->passed_over = Dump(list_);
    batch->unusable = why_;
    uint64_t more = 0;
    if (unusable_ == 0 || !ingest_.unusable_alerts.Due(MonotonicNow(), &more)) return;
    spdlog::warn(
        "event=alerts_passed_over count={} fingerprint={} why=\"{}\" requests_not_logged={}",
        unusable_, LogValue(fingerprint_), why_, more);
  }

 private:
  Ingest& ingest_;
  OrderedJson list_ = OrderedJson::array();
  size_t count_ = 0;
  size_t unusable_ = 0;
  std::string why_;  // of the first of these
  std::string fingerprint_;
};

void PostAlerts(const std::shared_ptr<Ingest>& ingest, const HttpRequest& request,
                Responder responder) {
  Result<ReceivedAlerts> received = ParseAlerts(request.body);
  if (!received.ok()) return responder->Send(BadRequest(received.error().message));
  auto batch = std::make_shared<Batch>();
  batch->alerts = true;
  std::vector<Event> events;
  PassedOver passed_over(*ingest);
  for (const ReceivedAlert& alert : received->alerts) {
    MappedAlert mapped = MapAlert(alert, ingest->api->alerts);
    if (mapped.event) {
      events.push_back(std::move(*mapped.event));
      batch->places.push_back({alert.index, alert.fingerprint});
    } else {
      passed_over.Add(alert, mapped);
    }
  }
  passed_over.AddLeftOut(received->over, "because a body holds " + std::to_string(kAlertsMax),
                         ingest->alerts_over);
  passed_over.AddLeftOut(static_cast<size_t>(received->left_out),
                         "by max_alerts of the sender's webhook_config", ingest->alerts_left_out);
  passed_over.Finish(batch.get());
  batch->ingest = ingest;
  batch->responder = std::move(responder);
  batch->malformed = std::move(received->malformed);
  TakeAll(ingest->api->intake, events, std::move(batch));
}

// A group of a thousand alerts takes the loop for a tenth of a second. Many at once, from senders
// that repeat without a pause, would leave each step of a delivery waiting for one of them.
void TakeAlerts(const std::shared_ptr<Ingest>& ingest, HttpRequest request, Responder responder) {
  if (request.body.size() <= HttpLimits().body_bytes_max) {
    return PostAlerts(ingest, request, std::move(responder));
  }
  // What waits is held by the ingest itself, and so must not hold it.
  ingest->large.Add([weak = std::weak_ptr<Ingest>(ingest),
                     request = std::make_shared<const HttpRequest>(std::move(request)),
                     responder = std::make_shared<Responder>(std::move(responder))] {
    if (const auto held = weak.lock()) PostAlerts(held, *request, std::move(*responder));
  });
}

void PostCloudEvents(const std::shared_ptr<Ingest>& ingest, const HttpRequest& request,
                     Responder responder) {
  Result<ReceivedCloudEvents> received = ParseCloudEvents(
      request.body, [&request](std::string_view name) { return request.Header(name); });
  if (!received.ok()) return responder->Send(BadRequest(received.error().message));
  auto batch = std::make_shared<Batch>();
  batch->ingest = ingest;
  batch->responder = std::move(responder);
  batch->single = !IsCloudEventBatch(request.Header("Content-Type"));
  batch->malformed = std::move(received->malformed);
  for (size_t i = 0; i < received->events.size(); ++i) {
    batch->places.push_back({received->places[i], received->events[i].event_id});
  }
  TakeAll(ingest->api->intake, received->events, std::move(batch));
}

}  // namespace

HttpLimits ApiLimits() {
  HttpLimits limits;
  limits.body_bytes_max_of[kAlertsPath] = kAlertsBytesMax;
  return limits;
}

void AddIngestRoutes(HttpRouter* router, const ApiShared& deps) {
  auto ingest = std::make_shared<Ingest>(deps);
  AddForSenders(router, deps, kAlertsPath, [ingest](HttpRequest request, Responder r) {
    TakeAlerts(ingest, std::move(request), std::move(r));
  });
  AddForSenders(router, deps, "/api/v1/cloudevents",
                [ingest](const HttpRequest& request, Responder r) {
                  PostCloudEvents(ingest, request, std::move(r));
                });
}

}  // namespace sentinel
