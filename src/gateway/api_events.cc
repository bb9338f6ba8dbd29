// Events of existing senders.
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

#include "base/clock.h"
#include "gateway/api_routes.h"
#include "gateway/log_value.h"

namespace sentinel {
namespace {

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

}  // namespace

void AddForSenders(HttpRouter* router, const ApiShared& deps, std::string path,
                   HttpHandler handler) {
  router->Add("POST", std::move(path),
              [deps, handler = std::move(handler)](HttpRequest request, Responder responder) {
                auto refusal = deps->admission.Refusal(request, WallNow());
                if (!refusal) return handler(std::move(request), std::move(responder));
                spdlog::warn("event=event_refused status={} peer={} why={}", refusal->status,
                             LogValue(request.peer), LogValue(refusal->body));
                responder->Send(std::move(*refusal));
              });
}

void AddEventRoutes(HttpRouter* router, const ApiShared& deps) {
  AddForSenders(router, deps, "/api/v1/gpu_event",
                [deps](HttpRequest request, Responder responder) {
                  PostEvent(*deps, std::move(request), std::move(responder));
                });
}

}  // namespace sentinel
