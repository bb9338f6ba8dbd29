// What the files of the gateway's API share, each of which serves one part of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "gateway/api.h"
#include "wire/json_text.h"

namespace sentinel {

using Responder = std::unique_ptr<HttpResponder>;
using ApiShared = std::shared_ptr<const ApiDeps>;

// Beside a 503 of what could not be taken now.
inline constexpr const char* kRetryAfterSeconds = "1";

// A POST for who may send events; 401 and 403 for others.
void AddForSenders(HttpRouter* router, const ApiShared& deps, std::string path,
                   HttpHandler handler);

// For callers who have the role; 401 and 403 for others.
using CallerHandler = std::function<void(const ApiDeps& deps, const Caller& caller,
                                         const HttpRequest& request, Responder responder)>;
void AddForRole(HttpRouter* router, const ApiShared& deps, std::string method, std::string path,
                Role needed, CallerHandler handler);
// The caller, if it has the role; else it has been answered.
std::optional<Caller> CallerWith(Role needed, const ApiDeps& deps, const HttpRequest& request,
                                 const Responder& responder);

// Whom the audit trail is to name: over TCP without a key somebody has to say it.
Result<Actor> ActorOf(const Caller& caller, const std::string& by);

HttpResponse BadRequest(const std::string& why);
// 404 for what is not known, 409 for what cannot be now, 400 for the rest.
HttpResponse RefusalFor(const Error& error);

// An acknowledgement by a person who is not at a terminal.
void AcknowledgeByHand(const ApiDeps& deps, const HttpRequest& request, const Responder& responder);

void AddEventRoutes(HttpRouter* router, const ApiShared& deps);
void AddIngestRoutes(HttpRouter* router, const ApiShared& deps);
void AddAckRoutes(HttpRouter* router, const ApiShared& deps);
void AddHandRoutes(HttpRouter* router, const ApiShared& deps);
void AddIncidentRoutes(HttpRouter* router, const ApiShared& deps);
void AddSilenceRoutes(HttpRouter* router, const ApiShared& deps);
void AddInquiryRoutes(HttpRouter* router, const ApiShared& deps);
void AddStatusRoutes(HttpRouter* router, const ApiShared& deps);

}  // namespace sentinel
