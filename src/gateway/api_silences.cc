// What shall not ring for a while, and nodes that are out of service.
#include <utility>
#include <vector>

#include "base/clock.h"
#include "gateway/api_routes.h"
#include "gateway/body_reader.h"
#include "incident/identity.h"
#include "web/silence_json.h"

namespace sentinel {
namespace {

void GetSilences(const ApiDeps& deps, const Caller&, const HttpRequest&,
                 const Responder& responder) {
  responder->Send(JsonResponse(200, SilencesJson(deps.book.silences())));
}

std::string PhasedJson(const ApiDeps& deps, const Silence& silence) {
  return SilenceJson(silence, deps.book.silences().PhaseOf(silence));
}

Result<Silence> Add(const ApiDeps& deps, const Caller& caller, Silence silence, Moment now) {
  const Actor actor = TRY(ActorOf(caller, silence.author));
  if (silence.author.empty()) silence.author = actor.by;
  return deps.book.AddSilence(actor, std::move(silence), now);
}

void PostSilence(const ApiDeps& deps, const Caller& caller, const HttpRequest& request,
                 const Responder& responder) {
  const Moment now = MomentNow();
  const Status known = CheckSilenceFields(request.body);
  if (!known.ok()) return responder->Send(RefusalFor(known.error()));
  Result<Silence> asked = ParseSilence(request.body, now.wall);
  if (!asked.ok()) return responder->Send(RefusalFor(asked.error()));
  const Result<Silence> added = Add(deps, caller, std::move(*asked), now);
  if (!added.ok()) return responder->Send(RefusalFor(added.error()));
  deps.turn();
  responder->Send(JsonResponse(200, PhasedJson(deps, *added)));
}

struct EndAsked {
  std::string id;
  Actor actor;
};

Result<EndAsked> ReadEnd(const Caller& caller, const std::string& body) {
  BodyReader reader = TRY(BodyReader::Parse(body));
  EndAsked asked;
  std::string by;
  reader.Text("id", &asked.id);
  reader.Text("by", &by);
  if (asked.id.empty()) reader.Wrong("id", "it is missing");
  TRY(reader.Finish());
  asked.actor = TRY(ActorOf(caller, by));
  return asked;
}

void PostExpire(const ApiDeps& deps, const Caller& caller, const HttpRequest& request,
                const Responder& responder) {
  const Result<EndAsked> asked = ReadEnd(caller, request.body);
  if (!asked.ok()) return responder->Send(RefusalFor(asked.error()));
  const Status ended = deps.book.EndSilence(asked->actor, asked->id, MomentNow());
  if (!ended.ok()) return responder->Send(RefusalFor(ended.error()));
  deps.turn();
  responder->Send(JsonResponse(200, Dump({{"expired", asked->id}})));
}

struct NodeAsked {
  std::string host;
  NodeState state = NodeState::kInService;
  std::string comment;
  std::string by;
  std::optional<Duration> length;
};

Result<NodeAsked> ReadNode(const std::string& body) {
  BodyReader reader = TRY(BodyReader::Parse(body));
  NodeAsked asked;
  std::string state;
  reader.Text("host", &asked.host);
  reader.Text("state", &state);
  reader.Text("comment", &asked.comment);
  reader.Text("by", &asked.by);
  reader.Millis("for_ms", 1000, ToMillis(kSilenceLongest), &asked.length);
  const std::optional<NodeState> known = NodeStateFromName(state);
  if (known) {
    asked.state = *known;
  } else {
    reader.Wrong("state", "in-service, drained, cordoned or reserved is expected");
  }
  if (asked.host.empty()) reader.Wrong("host", "it is missing");
  TRY(reader.Finish());
  return asked;
}

// Those that say so of this host and of nothing else, and are not over.
std::vector<std::string> OutOfServiceBy(const SilenceBook& book, const std::string& host) {
  const SilenceMatcher matcher{host, "", "", ""};
  std::vector<std::string> ids;
  for (const Silence& silence : book.All()) {
    if (silence.state != NodeState::kInService && silence.matcher == matcher &&
        book.PhaseOf(silence) != SilencePhase::kOver) {
      ids.push_back(silence.id);
    }
  }
  return ids;
}

Status PutNode(const ApiDeps& deps, const Caller& caller, const NodeAsked& asked, Moment now) {
  const Actor actor = TRY(ActorOf(caller, asked.by));
  const std::string host = IdentityHost(asked.host);
  if (asked.state == NodeState::kInService) {
    const std::vector<std::string> ids = OutOfServiceBy(deps.book.silences(), host);
    if (ids.empty()) {
      return Error{
          ErrorCode::kNotFound,
          "nothing here says that " + asked.host +
              " is out of service; a silence that covers more hosts, or the inventory, may"};
    }
    for (const std::string& id : ids) TRY(deps.book.EndSilence(actor, id, now));
    return {};
  }
  Silence silence;
  silence.matcher.host = host;
  silence.state = asked.state;
  silence.created = silence.starts = now.wall;
  if (asked.length) {
    silence.expires =
        now.wall + std::chrono::duration_cast<std::chrono::milliseconds>(*asked.length);
  }
  silence.author = asked.by.empty() ? actor.by : asked.by;
  silence.comment = asked.comment;
  TRY(deps.book.AddSilence(actor, std::move(silence), now));
  return {};
}

void PostNode(const ApiDeps& deps, const Caller& caller, const HttpRequest& request,
              const Responder& responder) {
  const Result<NodeAsked> asked = ReadNode(request.body);
  if (!asked.ok()) return responder->Send(RefusalFor(asked.error()));
  const Status put = PutNode(deps, caller, *asked, MomentNow());
  if (!put.ok()) return responder->Send(RefusalFor(put.error()));
  deps.turn();
  responder->Send(JsonResponse(
      200, Dump({{"host", IdentityHost(asked->host)}, {"state", NodeStateName(asked->state)}})));
}

}  // namespace

void AddSilenceRoutes(HttpRouter* router, const ApiShared& deps) {
  AddForRole(router, deps, "GET", "/api/v1/silences", Role::kView, GetSilences);
  AddForRole(router, deps, "POST", "/api/v1/silences", Role::kAdmin, PostSilence);
  AddForRole(router, deps, "POST", "/api/v1/silences/expire", Role::kAdmin, PostExpire);
  AddForRole(router, deps, "POST", "/api/v1/nodes", Role::kAdmin, PostNode);
}

}  // namespace sentinel
