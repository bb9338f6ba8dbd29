// What an operator does to alarms and terminals. Each leaves a line in the audit trail.
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "gateway/api_routes.h"
#include "gateway/body_reader.h"
#include "gateway/log_value.h"

namespace sentinel {
namespace {

constexpr int64_t kMuteMinMs = 1000;

Status KnownTerminal(const ApiDeps& deps, const std::string& terminal) {
  if (deps.deliveries.Knows(terminal)) return {};
  return Error{ErrorCode::kNotFound, "there is no terminal '" + terminal + "'"};
}

struct AckAsked {
  std::vector<std::string> incidents;
  Actor actor;
};

Result<AckAsked> ReadAck(const ApiDeps& deps, const Caller& caller, const std::string& body) {
  BodyReader reader = TRY(BodyReader::Parse(body));
  AckAsked asked;
  std::string terminal;
  std::string by;
  bool all = false;
  reader.Texts("incidents", &asked.incidents);
  reader.Text("terminal", &terminal);
  reader.Flag("all", &all);
  reader.Text("by", &by);
  if ((asked.incidents.empty() ? 0 : 1) + (terminal.empty() ? 0 : 1) + (all ? 1 : 0) != 1) {
    reader.Wrong("incidents", "either incidents, or a terminal, or all is expected");
  }
  TRY(reader.Finish());
  asked.actor = TRY(ActorOf(caller, by));
  if (!terminal.empty()) {
    TRY(KnownTerminal(deps, terminal));
    asked.incidents = deps.book.BurningAt(terminal);
  } else if (all) {
    for (const Incident* incident : deps.book.List(false, kListedIncidentsMax)) {
      asked.incidents.push_back(incident->id);
    }
  }
  for (const std::string& id : asked.incidents) {
    const Incident* incident = deps.book.Find(id);
    if (incident == nullptr || incident->state == IncidentState::kClosed) {
      return Error{ErrorCode::kNotFound, "no incident '" + id + "' is open; nothing was done"};
    }
  }
  return asked;
}

struct TerminalAsked {
  std::string terminal;
  Actor actor;
  std::optional<Duration> length;
};

// A terminal, who it is, and, where `length_max` is given, for how long.
Result<TerminalAsked> ReadTerminal(const ApiDeps& deps, const Caller& caller,
                                   const std::string& body, std::optional<Duration> length_max) {
  BodyReader reader = TRY(BodyReader::Parse(body));
  TerminalAsked asked;
  std::string by;
  reader.Text("terminal", &asked.terminal);
  reader.Text("by", &by);
  if (length_max) reader.Millis("for_ms", kMuteMinMs, ToMillis(*length_max), &asked.length);
  if (asked.terminal.empty()) reader.Wrong("terminal", "it is missing");
  TRY(reader.Finish());
  asked.actor = TRY(ActorOf(caller, by));
  TRY(KnownTerminal(deps, asked.terminal));
  return asked;
}

OrderedJson MutedUntil(const ApiDeps& deps, const std::string& terminal) {
  auto muted = deps.book.mutes().find(terminal);
  if (muted == deps.book.mutes().end()) return nullptr;
  return FormatRfc3339(muted->second.wall);
}

void PostMute(const ApiDeps& deps, const Caller& caller, const HttpRequest& request,
              const Responder& responder) {
  const Result<TerminalAsked> asked = ReadTerminal(deps, caller, request.body, deps.mute_max);
  if (!asked.ok()) return responder->Send(RefusalFor(asked.error()));
  const Moment now = MomentNow();
  const Duration length = asked->length.value_or(deps.mute_max) + kMuteMargin;
  const WallTime until = now.wall + std::chrono::duration_cast<std::chrono::milliseconds>(length);
  deps.book.MuteAs(asked->actor, asked->terminal, until, now);
  deps.turn();
  deps.deliveries.TellMute(asked->terminal);
  responder->Send(JsonResponse(200, Dump({{"terminal", asked->terminal},
                                          {"muted_until_at", MutedUntil(deps, asked->terminal)}})));
}

void PostUnmute(const ApiDeps& deps, const Caller& caller, const HttpRequest& request,
                const Responder& responder) {
  const Result<TerminalAsked> asked = ReadTerminal(deps, caller, request.body, std::nullopt);
  if (!asked.ok()) return responder->Send(RefusalFor(asked.error()));
  const bool was_muted = deps.book.mutes().contains(asked->terminal);
  deps.book.UnmuteAs(asked->actor, asked->terminal, MomentNow());
  deps.turn();
  // Also where we know of no mute: a press that has not reached us has muted it all the same.
  deps.deliveries.TellMute(asked->terminal);
  responder->Send(
      JsonResponse(200, Dump({{"terminal", asked->terminal}, {"was_muted", was_muted}})));
}

struct TestAsked {
  std::string terminal;
  TestMessages::What what = TestMessages::What::kLamp;
  Actor actor;
};

Result<TestAsked> ReadTest(const ApiDeps& deps, const Caller& caller, const std::string& body) {
  BodyReader reader = TRY(BodyReader::Parse(body));
  TestAsked asked;
  std::string what;
  std::string by;
  reader.Text("terminal", &asked.terminal);
  reader.Text("what", &what);
  reader.Text("by", &by);
  if (what == "speech") asked.what = TestMessages::What::kSpeech;
  if (what != "lamp" && what != "speech") reader.Wrong("what", "lamp or speech is expected");
  if (asked.terminal.empty()) reader.Wrong("terminal", "it is missing");
  TRY(reader.Finish());
  asked.actor = TRY(ActorOf(caller, by));
  TRY(KnownTerminal(deps, asked.terminal));
  return asked;
}

void PostTest(const ApiDeps& deps, const Caller& caller, const HttpRequest& request,
              Responder responder) {
  const Result<TestAsked> asked = ReadTest(deps, caller, request.body);
  if (!asked.ok()) return responder->Send(RefusalFor(asked.error()));
  std::shared_ptr<HttpResponder> shared = std::move(responder);
  const char* what = asked->what == TestMessages::What::kLamp ? "lamp" : "speech";
  const Status started = deps.tests.Start(
      asked->terminal, asked->what,
      [&deps, shared, what, terminal = asked->terminal](const TestMessages::Report& report) {
        if (!report.delivered) {
          return shared->Send(
              TextResponse(504, "Gateway Timeout: " + terminal + ": " + report.error + "\n"));
        }
        shared->Send(JsonResponse(200, Dump({{"terminal", terminal},
                                             {"what", what},
                                             {"delivered_ms", ToMillis(report.after)},
                                             {"muted_until_at", MutedUntil(deps, terminal)}})));
      });
  if (!started.ok()) return shared->Send(RefusalFor(started.error()));
  deps.audit({WallNow(), asked->actor, AuditAction::kTest, asked->terminal, what});
  deps.turn();
}

}  // namespace

void AcknowledgeByHand(const ApiDeps& deps, const HttpRequest& request,
                       const Responder& responder) {
  const std::optional<Caller> caller = CallerWith(Role::kAck, deps, request, responder);
  if (!caller) return;
  const Result<AckAsked> asked = ReadAck(deps, *caller, request.body);
  if (!asked.ok()) return responder->Send(RefusalFor(asked.error()));
  const int count = deps.book.AcknowledgeAs(asked->actor, asked->incidents, MomentNow());
  deps.turn();
  responder->Send(
      JsonResponse(200, Dump({{"acknowledged", count}, {"incidents", asked->incidents}})));
}

void AddHandRoutes(HttpRouter* router, const ApiShared& deps) {
  AddForRole(router, deps, "POST", "/api/v1/mute", Role::kAck, PostMute);
  AddForRole(router, deps, "POST", "/api/v1/unmute", Role::kAck, PostUnmute);
  AddForRole(router, deps, "POST", "/api/v1/test", Role::kAdmin, PostTest);
}

}  // namespace sentinel
