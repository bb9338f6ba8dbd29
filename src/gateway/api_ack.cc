// Acknowledgements: the button of a terminal, pressed and signed, or a person who is not there.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "gateway/api_routes.h"
#include "gateway/log_value.h"
#include "wire/strict_json.h"

namespace sentinel {
namespace {

constexpr size_t kAckIncidentsMax = 1024;

struct AckBody {
  std::string terminal;
  WallTime pressed;
  std::vector<std::string> incidents;
};

Result<AckBody> ParseAck(const std::string& body, WallTime now) {
  TRY(CheckJsonObject(body));
  Json json = Json::parse(body, nullptr, false);
  Error wrong{ErrorCode::kInvalidArgument,
              "an object with a terminal and, if it likes, pressed_at (RFC 3339) and "
              "incidents is expected"};
  if (!json.contains("terminal") || !json["terminal"].is_string()) return wrong;
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

bool SignedByATerminal(const ApiDeps& deps, const HttpRequest& request, WallTime now) {
  return request.signer != nullptr &&
         std::any_of(deps.keys.begin(), deps.keys.end(), [&](const auto& entry) {
           return entry.second.Holds(request.signer->key, now);
         });
}

void PostAck(const ApiDeps& deps, const HttpRequest& request, const Responder& responder) {
  const Moment now = MomentNow();
  if (!SignedByATerminal(deps, request, now.wall)) {
    return AcknowledgeByHand(deps, request, responder);
  }
  Result<AckBody> ack = ParseAck(request.body, now.wall);
  if (!ack.ok()) {
    return responder->Send(TextResponse(400, "Bad Request: " + ack.error().message + "\n"));
  }
  auto keys = deps.keys.find(ack->terminal);
  if (keys == deps.keys.end() || !keys->second.Holds(request.signer->key, now.wall)) {
    return responder->Send(TextResponse(403, "Forbidden: that is not this terminal's key\n"));
  }
  int count = deps.book.Acknowledge(ack->terminal, ack->incidents, "button", ack->pressed, now);
  spdlog::info("event=ack terminal={} acknowledged={}", LogValue(ack->terminal), count);
  deps.turn();
  responder->Send(JsonResponse(200, Dump(Json{{"acknowledged", count}})));
}

}  // namespace

void AddAckRoutes(HttpRouter* router, const ApiShared& deps) {
  router->Add("POST", "/api/v1/ack", [deps](const HttpRequest& request, const Responder& r) {
    PostAck(*deps, request, r);
  });
  router->Add("GET", "/api/v1/time", [deps](const HttpRequest& request, const Responder& r) {
    r->Send(deps->authenticator.Time(request, MomentNow()));
  });
}

}  // namespace sentinel
