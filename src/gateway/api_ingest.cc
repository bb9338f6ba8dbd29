// The other ways in: alerts of an Alertmanager, CloudEvents. Both become gpu_events, and are
// answered when all of them are durable (docs/formats/ingest.md).
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "gateway/api_routes.h"
#include "gateway/log_value.h"
#include "wire/cloud_event.h"
#include "wire/event_json.h"

namespace sentinel {
namespace {

constexpr const char* kAlertsPath = "/api/v1/alertmanager";
constexpr const char* kRetryAfterSeconds = "1";

// The answers to the events of one request, and who waits for all of them.
struct Batch {
  Responder responder;
  std::vector<IntakeAnswer> answers;
  size_t missing = 0;
  std::string passed_over;  // a JSON array; empty: this request has no such thing
  bool single = false;      // answered as a gpu_event is
};

HttpResponse AnswerOf(Batch& batch) {
  const IntakeAnswer* worst = nullptr;
  for (const IntakeAnswer& answer : batch.answers) {
    if (answer.status != 200 && (worst == nullptr || answer.status > worst->status)) {
      worst = &answer;
    }
  }
  if (worst != nullptr) {
    HttpResponse response = TextResponse(worst->status, worst->body);
    // What is durable by then counts once, however often all of it is sent.
    if (worst->status == 503) response.headers["Retry-After"] = kRetryAfterSeconds;
    return response;
  }
  if (batch.single) return JsonResponse(200, std::move(batch.answers.front().body));
  std::string body = "{\"events\":[";
  for (size_t i = 0; i < batch.answers.size(); ++i) {
    body += (i == 0 ? "" : ",") + batch.answers[i].body;
  }
  body += "]";
  if (!batch.passed_over.empty()) body += ",\"passed_over\":" + batch.passed_over;
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

void PostAlerts(const ApiDeps& deps, const HttpRequest& request, Responder responder) {
  int64_t left_out = 0;
  Result<std::vector<ReceivedAlert>> alerts = ParseAlerts(request.body, &left_out);
  if (!alerts.ok()) {
    return responder->Send(TextResponse(400, "Bad Request: " + alerts.error().message + "\n"));
  }
  std::vector<Event> events;
  Json passed_over = Json::array();
  std::string lost;  // why the first of those that nobody meant to pass over is no event
  for (const ReceivedAlert& alert : *alerts) {
    MappedAlert mapped = MapAlert(alert, deps.alerts);
    if (mapped.event) {
      events.push_back(std::move(*mapped.event));
      continue;
    }
    deps.metrics.alerts_passed_over->Increment();
    if (mapped.lost) {
      spdlog::warn("event=alert_passed_over fingerprint={} why=\"{}\"", LogValue(alert.fingerprint),
                   mapped.why);
      if (lost.empty()) lost = mapped.why;
    }
    passed_over.push_back({{"fingerprint", alert.fingerprint}, {"why", mapped.why}});
  }
  if (left_out > 0) {
    // Nobody else would ever say so: it does not send them later either.
    deps.metrics.alerts_passed_over->Increment(static_cast<double>(left_out));
    const std::string why = std::to_string(left_out) +
                            " more were left out by max_alerts of the sender's webhook_config";
    spdlog::warn("event=alerts_left_out count={} why=\"max_alerts of the sender's webhook_config\"",
                 left_out);
    passed_over.push_back({{"fingerprint", ""}, {"why", why}});
  }
  if (events.empty() && !lost.empty()) {
    return responder->Send(TextResponse(400, "Bad Request: no alert of these can be used: " + lost +
                                                 " ([alerts] in gateway.toml names labels)\n"));
  }
  auto batch = std::make_shared<Batch>();
  batch->responder = std::move(responder);
  batch->passed_over = Dump(passed_over);
  TakeAll(deps.intake, events, std::move(batch));
}

void PostCloudEvents(const ApiDeps& deps, const HttpRequest& request, Responder responder) {
  Result<std::vector<Event>> events = ParseCloudEvents(
      request.body, [&request](std::string_view name) { return request.Header(name); });
  if (!events.ok()) {
    return responder->Send(TextResponse(400, "Bad Request: " + events.error().message + "\n"));
  }
  auto batch = std::make_shared<Batch>();
  batch->responder = std::move(responder);
  batch->single = !IsCloudEventBatch(request.Header("Content-Type"));
  TakeAll(deps.intake, *events, std::move(batch));
}

}  // namespace

HttpLimits ApiLimits() {
  HttpLimits limits;
  limits.body_bytes_max_of[kAlertsPath] = kAlertsBytesMax;
  return limits;
}

void AddIngestRoutes(HttpRouter* router, const ApiShared& deps) {
  AddForSenders(router, deps, kAlertsPath, [deps](const HttpRequest& request, Responder r) {
    PostAlerts(*deps, request, std::move(r));
  });
  AddForSenders(router, deps, "/api/v1/cloudevents",
                [deps](const HttpRequest& request, Responder r) {
                  PostCloudEvents(*deps, request, std::move(r));
                });
}

}  // namespace sentinel
