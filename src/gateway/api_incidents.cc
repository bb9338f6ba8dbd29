// Incidents, as they are shown.
#include <vector>

#include "base/clock.h"
#include "gateway/api_routes.h"
#include "web/incident_json.h"
#include "web/query.h"

namespace sentinel {
namespace {

constexpr size_t kShownIdCharsMax = 64;

void GetIncidents(const ApiDeps& deps, const Caller&, const HttpRequest& request,
                  const Responder& responder) {
  const Result<bool> with_closed = ShowsClosed(request.query);
  if (!with_closed.ok()) return responder->Send(RefusalFor(with_closed.error()));
  std::vector<const Incident*> list = deps.book.List(*with_closed, kListedIncidentsMax);
  responder->Send(JsonResponse(200, IncidentListJson(list, MomentNow())));
}

void GetIncident(const ApiDeps& deps, const Caller&, const HttpRequest& request,
                 const Responder& responder) {
  std::string id = request.path.substr(request.path.rfind('/') + 1);
  const Incident* incident = deps.book.Find(id);
  if (incident == nullptr) {
    return responder->Send(TextResponse(
        404, "Not Found: there is no incident '" + id.substr(0, kShownIdCharsMax) + "'\n"));
  }
  responder->Send(JsonResponse(200, IncidentJson(*incident)));
}

}  // namespace

void AddIncidentRoutes(HttpRouter* router, const ApiShared& deps) {
  AddForRole(router, deps, "GET", "/api/v1/incidents", Role::kView, GetIncidents);
  AddForRole(router, deps, "GET", "/api/v1/incidents/*", Role::kView, GetIncident);
}

}  // namespace sentinel
