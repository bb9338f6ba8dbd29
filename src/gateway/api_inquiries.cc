// Questions about what would happen, and about what was done.
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "gateway/api_routes.h"
#include "incident/identity.h"
#include "incident/speech_text.h"
#include "web/query.h"
#include "web/silence_json.h"
#include "wire/event_json.h"

namespace sentinel {
namespace {

OrderedJson ExplanationJson(const Explanation& explanation) {
  OrderedJson quiet;
  if (explanation.quiet) {
    quiet = {{"reason", QuietReasonName(explanation.quiet->reason)}, {"by", explanation.quiet->by}};
  }
  OrderedJson terminals = OrderedJson::array();
  for (const Explanation::Terminal& terminal : explanation.terminals) {
    terminals.push_back({{"name", terminal.name},
                         {"why", terminal.why},
                         {"light", terminal.light},
                         {"voice", terminal.voice},
                         {"debounce_left_ms", ToMillis(terminal.window_left)},
                         {"voice_why", TextOrNull(terminal.voice_why)}});
  }
  return {{"event_type", explanation.event_type},
          {"severity", SeverityName(explanation.severity)},
          {"severity_why", explanation.severity_why},
          {"what", explanation.what},
          {"identity", TextOrNull(explanation.identity)},
          {"debounce_ms", ToMillis(explanation.window)},
          {"incident", TextOrNull(explanation.incident)},
          {"suppressed", explanation.suppressed},
          {"quiet", std::move(quiet)},
          {"text", TextOrNull(explanation.text)},
          {"terminals", std::move(terminals)}};
}

void PostRouteTest(const ApiDeps& deps, const Caller&, const HttpRequest& request,
                   const Responder& responder) {
  const Result<Event> event = ParseEvent(request.body);
  if (!event.ok()) return responder->Send(RefusalFor(event.error()));
  const Explanation explanation =
      deps.book.Explain(*event, deps.agents.Presence(event->node_host), MomentNow());
  responder->Send(JsonResponse(200, Dump(ExplanationJson(explanation))));
}

void GetAudit(const ApiDeps& deps, const Caller&, const HttpRequest& request, Responder responder) {
  const Result<size_t> max = AuditLines(request.query);
  if (!max.ok()) return responder->Send(RefusalFor(max.error()));
  std::shared_ptr<HttpResponder> shared = std::move(responder);
  deps.store.ReadAudit(*max, [shared](const Result<std::vector<AuditRecord>>& lines) {
    if (lines.ok()) return shared->Send(JsonResponse(200, AuditJson(*lines)));
    shared->Send(
        TextResponse(503, "the audit trail cannot be read: " + lines.error().message + "\n"));
  });
}

}  // namespace

void AddInquiryRoutes(HttpRouter* router, const ApiShared& deps) {
  AddForRole(router, deps, "POST", "/api/v1/route_test", Role::kView, PostRouteTest);
  AddForRole(router, deps, "GET", "/api/v1/audit", Role::kView, GetAudit);
}

}  // namespace sentinel
