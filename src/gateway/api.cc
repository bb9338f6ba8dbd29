#include "gateway/api.h"

#include <spdlog/spdlog.h>

#include <memory>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/digest.h"
#include "gateway/log_value.h"
#include "web/incident_json.h"
#include "wire/terminal_json.h"

namespace sentinel {
namespace {

using Responder = std::unique_ptr<HttpResponder>;
using Json = nlohmann::ordered_json;

constexpr const char* kRetryAfterSeconds = "1";
constexpr size_t kAckIncidentsMax = 1024;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void PostEvent(const ApiDeps& deps, HttpRequest request, Responder responder) {
  std::shared_ptr<HttpResponder> shared = std::move(responder);
  deps.intake.Take(std::move(request.body), [shared](IntakeAnswer answer) {
    HttpResponse response = answer.status == 200
                                ? JsonResponse(200, std::move(answer.body))
                                : TextResponse(answer.status, std::move(answer.body));
    if (answer.status == 503) response.headers["Retry-After"] = kRetryAfterSeconds;
    shared->Send(std::move(response));
  });
}

struct AckBody {
  std::string terminal;
  WallTime pressed;
  std::vector<std::string> incidents;
};

Result<AckBody> ParseAck(const std::string& body, WallTime now) {
  Json json = Json::parse(body, nullptr, false);
  Error wrong{ErrorCode::kInvalidArgument,
              "an object with a terminal and, if it likes, pressed_at (RFC 3339) and "
              "incidents is expected"};
  if (!json.is_object() || !json.contains("terminal") || !json["terminal"].is_string()) {
    return wrong;
  }
  AckBody ack;
  ack.terminal = json["terminal"].get<std::string>();
  ack.pressed = now;
  if (json.contains("pressed_at")) {
    if (!json["pressed_at"].is_string()) return wrong;
    std::optional<WallTime> pressed = ParseRfc3339(json["pressed_at"].get<std::string>());
    if (!pressed) return wrong;
    ack.pressed = *pressed;
  }
  if (!json.contains("incidents") || json["incidents"].is_null()) return ack;
  const Json& incidents = json["incidents"];
  if (!incidents.is_array() || incidents.size() > kAckIncidentsMax) return wrong;
  for (const Json& id : incidents) {
    if (!id.is_string()) return wrong;
    ack.incidents.push_back(id.get<std::string>());
  }
  return ack;
}

// The bytes are verified before they are read: the key header says with whose secret.
const KeyPair* Verified(const ApiDeps& deps, const HttpRequest& request, std::string* error) {
  std::string_view key = request.Header("X-API-Key");
  std::string_view timestamp = request.Header("X-Timestamp");
  std::string_view signature = request.Header("X-Signature");
  *error = "the key is not known";
  for (const auto& [name, pair] : deps.keys) {
    if (!ConstantTimeEqual(pair.key, key)) continue;
    Status verified = VerifyV1(pair.secret, timestamp, request.body, signature, WallNow());
    if (verified.ok()) return &pair;
    *error = verified.error().message;
  }
  return nullptr;
}

void PostAck(const ApiDeps& deps, const HttpRequest& request, const Responder& responder) {
  std::string why;
  const KeyPair* pair = Verified(deps, request, &why);
  if (pair == nullptr) {
    spdlog::warn("event=ack_refused peer={} why={}", LogValue(request.peer), LogValue(why));
    return responder->Send(TextResponse(401, "Unauthorized: " + why + "\n"));
  }
  Moment now = MomentNow();
  Result<AckBody> ack = ParseAck(request.body, now.wall);
  if (!ack.ok()) {
    return responder->Send(TextResponse(400, "Bad Request: " + ack.error().message + "\n"));
  }
  auto keys = deps.keys.find(ack->terminal);
  if (keys == deps.keys.end() || keys->second.secret != pair->secret) {
    return responder->Send(TextResponse(403, "Forbidden: that is not this terminal's key\n"));
  }
  int count = deps.book.Acknowledge(ack->terminal, ack->incidents, "button", ack->pressed, now);
  spdlog::info("event=ack terminal={} acknowledged={}", LogValue(ack->terminal), count);
  deps.turn();
  responder->Send(JsonResponse(200, Dump(Json{{"acknowledged", count}})));
}

void GetIncidents(const ApiDeps& deps, const HttpRequest& request, const Responder& responder) {
  bool with_closed = true;
  if (!request.query.empty()) {
    if (request.query != "state=open" && request.query != "state=all") {
      return responder->Send(TextResponse(400, "Bad Request: state=open or state=all\n"));
    }
    with_closed = request.query == "state=all";
  }
  std::vector<const Incident*> list = deps.book.List(with_closed, kListedIncidentsMax);
  responder->Send(JsonResponse(200, IncidentListJson(list, MomentNow())));
}

void GetIncident(const ApiDeps& deps, const HttpRequest& request, const Responder& responder) {
  std::string id = request.path.substr(request.path.rfind('/') + 1);
  const Incident* incident = deps.book.Find(id);
  if (incident == nullptr) return responder->Send(TextResponse(404, "Not Found\n"));
  responder->Send(JsonResponse(200, IncidentJson(*incident)));
}

std::string TerminalsJson(const ApiDeps& deps) {
  Json list = Json::array();
  for (const TerminalStatus& status : deps.deliveries.Status()) {
    Json answered;
    if (status.answered) answered = FormatRfc3339(status.answered->wall);
    auto muted = deps.book.mutes().find(status.name);
    list.push_back(
        {{"name", status.name},
         {"address", status.address},
         {"kind", status.kind},
         {"reachable", status.reachable},
         {"answered_at", answered},
         {"error", status.error.empty() ? Json() : Json(status.error)},
         {"muted_until_at",
          muted == deps.book.mutes().end() ? Json() : Json(FormatRfc3339(muted->second.wall))}});
  }
  return Dump(Json{{"terminals", std::move(list)}});
}

HttpResponse Readiness(const ApiDeps& deps) {
  if (!deps.ready()) return TextResponse(503, "starting or stopping\n");
  StoreHealth health = deps.store.health();
  if (!health.ok) {
    return TextResponse(503, "events cannot be made durable: " + health.error + "\n");
  }
  std::string words = "ready\n";
  if (!health.moved_aside.empty()) {
    words += "the store was corrupt, begun anew, and is kept as " + health.moved_aside + "\n";
  }
  return TextResponse(200, std::move(words));
}

}  // namespace

void AddApiRoutes(HttpRouter* router, ApiDeps api) {
  auto deps = std::make_shared<ApiDeps>(std::move(api));
  router->Add("POST", "/api/v1/gpu_event", [deps](HttpRequest request, Responder responder) {
    PostEvent(*deps, std::move(request), std::move(responder));
  });
  router->Add("POST", "/api/v1/ack", [deps](const HttpRequest& request, const Responder& r) {
    PostAck(*deps, request, r);
  });
  router->Add("GET", "/api/v1/incidents", [deps](const HttpRequest& request, const Responder& r) {
    GetIncidents(*deps, request, r);
  });
  router->Add("GET", "/api/v1/incidents/*", [deps](const HttpRequest& request, const Responder& r) {
    GetIncident(*deps, request, r);
  });
  router->Add("GET", "/api/v1/terminals", [deps](const HttpRequest&, const Responder& r) {
    r->Send(JsonResponse(200, TerminalsJson(*deps)));
  });
  router->Add("GET", "/api/v1/agents", [deps](const HttpRequest&, const Responder& r) {
    r->Send(JsonResponse(200, AgentsJson(deps->agents, MonotonicNow())));
  });
  router->Add("GET", "/metrics", [deps](const HttpRequest&, const Responder& r) {
    HttpResponse response = TextResponse(200, deps->metrics.Text());
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    r->Send(std::move(response));
  });
  router->Add("GET", "/healthz",
              [](const HttpRequest&, const Responder& r) { r->Send(TextResponse(200, "ok\n")); });
  router->Add("GET", "/readyz",
              [deps](const HttpRequest&, const Responder& r) { r->Send(Readiness(*deps)); });
}

}  // namespace sentinel
