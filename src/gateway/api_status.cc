// How the gateway, its terminals and its agents are.
#include <utility>

#include "base/clock.h"
#include "gateway/api_routes.h"

namespace sentinel {
namespace {

std::string TerminalsJson(const ApiDeps& deps) {
  OrderedJson list = OrderedJson::array();
  for (const TerminalStatus& status : deps.deliveries.Status()) {
    OrderedJson answered;
    if (status.answered) answered = FormatRfc3339(status.answered->wall);
    auto muted = deps.book.mutes().find(status.name);
    list.push_back({{"name", status.name},
                    {"address", status.address},
                    {"kind", status.kind},
                    {"reachable", status.reachable},
                    {"answered_at", answered},
                    {"error", status.error.empty() ? OrderedJson() : OrderedJson(status.error)},
                    {"muted_until_at", muted == deps.book.mutes().end()
                                           ? OrderedJson()
                                           : OrderedJson(FormatRfc3339(muted->second.wall))}});
  }
  return Dump(OrderedJson{{"terminals", std::move(list)}});
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

void AddStatusRoutes(HttpRouter* router, const ApiShared& deps) {
  AddForRole(router, deps, "GET", "/api/v1/terminals", Role::kView,
             [](const ApiDeps& api, const Caller&, const HttpRequest&, const Responder& r) {
               r->Send(JsonResponse(200, TerminalsJson(api)));
             });
  AddForRole(router, deps, "GET", "/api/v1/agents", Role::kView,
             [](const ApiDeps& api, const Caller&, const HttpRequest&, const Responder& r) {
               r->Send(JsonResponse(200, AgentsJson(api.agents, MonotonicNow())));
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
