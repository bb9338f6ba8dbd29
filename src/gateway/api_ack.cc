// Acknowledgements: the button of a terminal, pressed and signed, or a person who is not there.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/clock.h"
#include "gateway/api_routes.h"
#include "gateway/log_value.h"
#include "wire/talk_json.h"

namespace sentinel {
namespace {

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
  const Result<PressBody> press = ParsePress(request.body);
  if (!press.ok()) {
    return responder->Send(TextResponse(400, "Bad Request: " + press.error().message + "\n"));
  }
  auto keys = deps.keys.find(press->terminal);
  if (keys == deps.keys.end() || !keys->second.Holds(request.signer->key, now.wall)) {
    return responder->Send(TextResponse(403, "Forbidden: that is not this terminal's key\n"));
  }
  int count = deps.book.Acknowledge(press->terminal, press->incidents, "button",
                                    press->pressed.value_or(now.wall), now);
  spdlog::info("event=ack terminal={} acknowledged={}", LogValue(press->terminal), count);
  deps.turn();
  OrderedJson answer{{"acknowledged", count}};
  const int64_t muted_for_ms = ToMillis(deps.book.MuteLeft(press->terminal, now.mono));
  // A press that is older than a mute is long has none left; of one that opened none, as it was
  // about nothing that burns here, nothing is said.
  const bool over = press->pressed && now.wall.since_epoch - press->pressed->since_epoch >
                                          deps.mute_max + kPressClockSlack;
  if (muted_for_ms > 0 || over) answer["muted_for_ms"] = muted_for_ms;
  responder->Send(JsonResponse(200, Dump(answer)));
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
