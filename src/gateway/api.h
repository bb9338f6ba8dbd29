// The gateway's HTTP API: which path does what. The work is done elsewhere.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <boost/asio/io_context.hpp>

#include "gateway/access.h"
#include "gateway/admission.h"
#include "gateway/agents.h"
#include "gateway/deliveries.h"
#include "gateway/intake.h"
#include "gateway/test_messages.h"
#include "http/request_authenticator.h"
#include "http/server.h"
#include "incident/incident_book.h"
#include "model/audit.h"
#include "store/store.h"
#include "web/metrics.h"
#include "wire/alert_rules.h"

namespace sentinel {

// Incidents in one list; the newest are shown.
constexpr size_t kListedIncidentsMax = 2000;

// All outlive the router.
struct ApiDeps {
  boost::asio::io_context& io;
  IncidentBook& book;
  Store& store;
  GatewayMetrics& metrics;
  Agents& agents;
  Deliveries& deliveries;
  Intake& intake;
  RequestAuthenticator& authenticator;
  const Admission& admission;
  const Access& access;
  const std::map<std::string, KeyRing>& keys;  // by terminal
  const AlertMapping& alerts;
  TestMessages& tests;
  const Duration& mute_max;                       // of a mute by command
  std::function<void(const AuditRecord&)> audit;  // of what the book does not tell of itself
  std::function<void()> turn;
  std::function<bool()> ready;
};

// What a server of the API takes: bodies of 64 KiB, and larger ones where a whole group comes at
// once.
HttpLimits ApiLimits();

// GET /api/v1 tells of all that `router` serves; it outlives its own routes.
void AddApiRoutes(HttpRouter* router, ApiDeps deps);

}  // namespace sentinel
