#include "gateway/api.h"

#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

#include "base/clock.h"
#include "gateway/api_routes.h"
#include "gateway/log_value.h"

namespace sentinel {

HttpResponse BadRequest(const std::string& why) {
  return TextResponse(400, "Bad Request: " + why + "\n");
}

HttpResponse RefusalFor(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotFound:
      return TextResponse(404, "Not Found: " + error.message + "\n");
    case ErrorCode::kExhausted:
    case ErrorCode::kUnavailable:
      return TextResponse(409, "Conflict: " + error.message + "\n");
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kDenied:
    case ErrorCode::kCorrupt:
    case ErrorCode::kTimeout:
    case ErrorCode::kIo:
      break;
  }
  return BadRequest(error.message);
}

std::optional<Caller> CallerWith(Role needed, const ApiDeps& deps, const HttpRequest& request,
                                 const Responder& responder) {
  Result<Caller> caller = deps.access.Identify(request, WallNow());
  if (!caller.ok()) {
    spdlog::warn("event=refused status=401 path={} peer={} why={}", LogValue(request.path),
                 LogValue(request.peer), LogValue(caller.error().message));
    HttpResponse refusal = TextResponse(401, "Unauthorized: " + caller.error().message + "\n");
    refusal.headers["WWW-Authenticate"] = "Sentinel-Signature";
    responder->Send(std::move(refusal));
    return std::nullopt;
  }
  if (caller->role >= needed) return std::move(*caller);
  spdlog::warn("event=refused status=403 path={} peer={} who={} role={} needed={}",
               LogValue(request.path), LogValue(request.peer), LogValue(caller->who),
               RoleName(caller->role), RoleName(needed));
  responder->Send(TextResponse(403, "Forbidden: " + RefusalOf(*caller, needed) + "\n"));
  return std::nullopt;
}

Result<Actor> ActorOf(const Caller& caller, const std::string& by) {
  if (!by.empty() || !caller.who.empty()) return caller.Named(by);
  return Error{ErrorCode::kInvalidArgument, "by: over TCP without a key, say who does it"};
}

void AddForRole(HttpRouter* router, const ApiShared& deps, std::string method, std::string path,
                Role needed, CallerHandler handler) {
  router->Add(std::move(method), std::move(path),
              [deps, needed, handler = std::move(handler)](const HttpRequest& request,
                                                           Responder responder) {
                std::optional<Caller> caller = CallerWith(needed, *deps, request, responder);
                if (caller) handler(*deps, *caller, request, std::move(responder));
              });
}

namespace {

std::string ServedJson(const HttpRouter& router) {
  OrderedJson paths = OrderedJson::array();
  for (const auto& [method, path] : router.Served()) {
    paths.push_back({{"method", method}, {"path", path}});
  }
  return Dump({{"paths", std::move(paths)}});
}

}  // namespace

void AddApiRoutes(HttpRouter* router, ApiDeps api) {
  auto deps = std::make_shared<const ApiDeps>(std::move(api));
  AddEventRoutes(router, deps);
  AddIngestRoutes(router, deps);
  AddAckRoutes(router, deps);
  AddHandRoutes(router, deps);
  AddIncidentRoutes(router, deps);
  AddSilenceRoutes(router, deps);
  AddInquiryRoutes(router, deps);
  AddStatusRoutes(router, deps);
  router->Add("GET", "/api/v1", [router](const HttpRequest&, const Responder& r) {
    r->Send(JsonResponse(200, ServedJson(*router)));
  });
}

}  // namespace sentinel
