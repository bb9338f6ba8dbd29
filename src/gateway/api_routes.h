// What the files of the gateway's API share, each of which serves one part of it.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "gateway/api.h"

namespace sentinel {

using Responder = std::unique_ptr<HttpResponder>;
using Json = nlohmann::ordered_json;
using ApiShared = std::shared_ptr<const ApiDeps>;

// Bytes that are no UTF-8 are replaced.
inline std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A POST for who may send events; 401 and 403 for others.
void AddForSenders(HttpRouter* router, const ApiShared& deps, std::string path,
                   HttpHandler handler);

void AddEventRoutes(HttpRouter* router, const ApiShared& deps);
void AddIngestRoutes(HttpRouter* router, const ApiShared& deps);
void AddButtonRoutes(HttpRouter* router, const ApiShared& deps);
void AddIncidentRoutes(HttpRouter* router, const ApiShared& deps);
void AddStatusRoutes(HttpRouter* router, const ApiShared& deps);

}  // namespace sentinel
