#include "ctl/commands.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "ctl/json_fields.h"
#include "ctl/node_hosts.h"
#include "ctl/policy_views.h"
#include "ctl/table.h"
#include "http/key_file.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;

constexpr auto kWatchEvery = std::chrono::seconds(1);

void Say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

std::string Dump(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + '\n';
}

// Every incident that is new or another, whole, a line each, the oldest first.
std::string ChangedLines(const Json& before, const Json& after) {
  std::map<std::string, const Json*> known;
  for (const Json& incident : List(before, "incidents")) known[Text(incident, "id")] = &incident;
  std::string lines;
  for (const Json& incident : List(after, "incidents")) {
    auto old = known.find(Text(incident, "id"));
    if (old == known.end() || *old->second != incident) lines.insert(0, Dump(incident, -1));
  }
  return lines;
}

// Whether the next host may fare better.
bool ConcernsOneHost(ErrorCode refusal) {
  switch (refusal) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
      return true;
    case ErrorCode::kDenied:
    case ErrorCode::kExhausted:
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
      return false;
  }
  return false;
}

bool IsIncidentList(const Json& answer) {
  return answer.is_object() && answer.contains("incidents") && answer["incidents"].is_array();
}

}  // namespace

std::string UserName() {
  const passwd* user = getpwuid(getuid());
  return user == nullptr ? "" : user->pw_name;
}

int Complain(const Error& error) {
  std::fprintf(stderr, "sentinelctl: %s\n", error.message.c_str());
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
      std::fputs(
          "Is sentinel-gateway running there? --gateway names another: host:port or unix:/path.\n",
          stderr);
      return kExitUnreachable;
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kDenied:
    case ErrorCode::kCorrupt:
    case ErrorCode::kExhausted:
    case ErrorCode::kIo:
      return kExitRefused;
  }
  return kExitRefused;
}

std::string EventOptions::Body() const {
  if (!body.empty()) return body;
  Json json = {{"event_type", type}, {"node_host", host}};
  if (!rack.empty()) json["cluster_rack"] = rack;
  if (!job.empty()) json["job_id"] = job;
  if (!state.empty()) json["state"] = state;
  if (gpu >= 0) json["gpu_index"] = gpu;
  if (util >= 0) json["gpu_util"] = util;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Commands::Commands(const ControlOptions& options) : options_(options) {
  style_.colour =
      options.colour && std::getenv("NO_COLOR") == nullptr && isatty(STDOUT_FILENO) == 1;
  style_.wording = options.english ? Wording::kEnglish : Wording::kChinese;
}

Result<GatewayClient> Commands::Client() const {
  Endpoint gateway = GatewayClient::Here();
  if (!options_.gateway.empty()) {
    gateway = TRY(ParseEndpoint(options_.gateway, GatewayClient::kPort));
  }
  KeyRing keys;
  if (!options_.key_file.empty()) {
    keys = KeyRing(TRY(LoadKeys(options_.key_file, SampleKey::kRefused)));
    if (keys.empty()) {  // not unsigned, as if none had been named
      return Error{ErrorCode::kDenied, "key file " + options_.key_file + ": the key is revoked"};
    }
  }
  std::shared_ptr<TlsContext> tls;
  if (gateway.tls) {
    if (options_.tls.ca.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   gateway.ToString() + ": --ca names the CA that its certificate is to be of"};
    }
    tls = TRY(TlsContext::ForClient(options_.tls));
  }
  return GatewayClient(std::move(gateway), std::move(keys), std::move(tls));
}

int Commands::Show(const std::string& path, const std::string& query, View view) {
  Result<GatewayClient> client = Client();
  if (!client.ok()) return Complain(client.error());
  const Result<Json> answer = client->Get(path, query);
  if (!answer.ok()) return Complain(answer.error());
  Say(options_.json ? Dump(*answer) : view(*answer, style_));
  return kExitDone;
}

int Commands::Watch(const std::string& id) {
  Result<GatewayClient> client = Client();
  if (!client.ok()) return Complain(client.error());
  Json before;
  bool answering = true;
  for (;; std::this_thread::sleep_for(kWatchEvery)) {
    Result<Json> answer = client->Get("/api/v1/incidents");
    if (answer.ok() && !IsIncidentList(*answer)) {
      answer = Error{ErrorCode::kCorrupt, "what answers is not a gateway"};
    }
    if (answer.ok() && !id.empty()) {
      Json& incidents = (*answer)["incidents"];
      const auto other = [&id](const Json& incident) { return Text(incident, "id") != id; };
      incidents.erase(std::remove_if(incidents.begin(), incidents.end(), other), incidents.end());
      if (incidents.empty() && before.is_null()) {
        answer = Error{ErrorCode::kNotFound, "there is no incident '" + id + "'"};
      }
    }
    if (!answer.ok()) {
      if (before.is_null()) return Complain(answer.error());
      if (answering) {
        std::fprintf(stderr, "sentinelctl: %s; waiting for it\n", answer.error().message.c_str());
      }
      answering = false;
      continue;
    }
    answering = true;
    Say(options_.json ? ChangedLines(before, *answer) : ChangesView(before, *answer, style_));
    before = std::move(*answer);
  }
}

int Commands::Send(const std::string& event) {
  Result<GatewayClient> client = Client();
  if (!client.ok()) return Complain(client.error());
  const Result<Json> answer = client->Post("/api/v1/gpu_event", event);
  if (!answer.ok()) return Complain(answer.error());
  if (options_.json) {
    Say(Dump(*answer));
    return kExitDone;
  }
  auto text = [&answer](const char* key) {
    const bool there = answer->is_object() && answer->contains(key) && (*answer)[key].is_string();
    return there ? (*answer)[key].get<std::string>() : std::string();
  };
  std::string words = text("status").empty() ? "answered" : text("status");
  if (!text("incident").empty()) words += ", incident " + text("incident");
  Say(words + '\n');
  return kExitDone;
}

int Commands::Do(const std::string& path, Json body, const std::string& by, View view) {
  Result<GatewayClient> client = Client();
  if (!client.ok()) return Complain(client.error());
  if (!by.empty()) body["by"] = by;
  const Result<Json> answer = client->Post(path, Dump(body, -1));
  if (!answer.ok()) return Complain(answer.error());
  Say(options_.json ? Dump(*answer) : view(*answer, style_));
  return kExitDone;
}

Result<std::vector<std::string>> Commands::NodesThatFit(GatewayClient& client,
                                                        const std::string& pattern,
                                                        bool out_of_service) {
  const Json silences = TRY(client.Get("/api/v1/silences"));
  std::vector<std::string> hosts;
  if (out_of_service) {
    hosts = HostsOutOfServiceThatFit(pattern, silences);
  } else {
    const Json agents = TRY(client.Get("/api/v1/agents"));
    const Json incidents = TRY(client.Get("/api/v1/incidents", "state=all"));
    hosts = KnownHostsThatFit(pattern, agents, incidents, silences);
  }
  if (!hosts.empty()) return hosts;
  return Error{ErrorCode::kNotFound,
               out_of_service
                   ? "no host that is out of service fits '" + pattern + "'"
                   : "no host that the gateway has heard of fits '" + pattern +
                         "': name each one by itself, or silence what may come with: silence add "
                         "--host '" +
                         pattern + "' --for …"};
}

int Commands::PutNodes(const std::string& host, Json body, const std::string& by) {
  const std::string path = "/api/v1/nodes";
  if (!IsHostPattern(host)) {
    body["host"] = host;
    return Do(path, std::move(body), by, NodeView);
  }
  Result<GatewayClient> client = Client();
  if (!client.ok()) return Complain(client.error());
  const bool out_of_service = body["state"] == "in-service";
  const Result<std::vector<std::string>> hosts = NodesThatFit(*client, host, out_of_service);
  if (!hosts.ok()) return Complain(hosts.error());
  if (!by.empty()) body["by"] = by;
  Json done = Json::array();
  std::vector<Error> refused;
  for (const std::string& each : *hosts) {
    body["host"] = each;
    Result<Json> answer = client->Post(path, Dump(body, -1));
    if (!answer.ok()) {
      // The name may be anybody's who posted an event.
      refused.push_back({answer.error().code,
                         Painted(each, Paint::kNone, false) + ": " + answer.error().message});
      if (!ConcernsOneHost(answer.error().code)) break;
      continue;
    }
    // A name with a generated suffix and one without may be the same host.
    if (std::find(done.begin(), done.end(), *answer) == done.end()) {
      done.push_back(std::move(*answer));
    }
  }
  std::string words;
  if (options_.json) {
    words = Dump({{"nodes", done}});
  } else {
    for (const Json& node : done) words += NodeView(node, style_);
  }
  Say(words);
  int code = kExitDone;
  for (const Error& error : refused) code = Complain(error);
  return code;
}

}  // namespace sentinel
