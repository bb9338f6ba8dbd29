// Events of existing senders.
#include <memory>
#include <utility>

#include "gateway/api_routes.h"

namespace sentinel {
namespace {

constexpr const char* kRetryAfterSeconds = "1";

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

void AddEventRoutes(HttpRouter* router, const ApiShared& deps) {
  router->Add("POST", "/api/v1/gpu_event", [deps](HttpRequest request, Responder responder) {
    PostEvent(*deps, std::move(request), std::move(responder));
  });
}

}  // namespace sentinel
