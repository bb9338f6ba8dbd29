#include "gateway/api.h"

#include <memory>
#include <utility>

#include "gateway/api_routes.h"

namespace sentinel {

void AddApiRoutes(HttpRouter* router, ApiDeps api) {
  auto deps = std::make_shared<const ApiDeps>(std::move(api));
  AddEventRoutes(router, deps);
  AddIngestRoutes(router, deps);
  AddButtonRoutes(router, deps);
  AddIncidentRoutes(router, deps);
  AddStatusRoutes(router, deps);
}

}  // namespace sentinel
