#include "ctl/gateway_client.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include "ctl/table.h"
#include "http/client.h"
#include "http/signed_client.h"
#include "signature/signature_v2.h"

namespace sentinel {
namespace {

constexpr const char* kSocket = "/run/gpu-sentinel/gateway.sock";
// A test of a terminal is answered when the terminal has answered, or has had ten seconds.
constexpr Duration kAnswerMax = std::chrono::seconds(20);
// 2000 incidents with all that was told of each.
constexpr size_t kAnswerBytesMax = 256u << 20;
constexpr size_t kWordsBytesMax = 2048;

constexpr std::string_view kOneIncident = "/api/v1/incidents/";

struct Promised {
  std::string_view method;
  std::string_view path;
  const char* field;
};
constexpr std::array<Promised, 14> kPromised = {{{"GET", "/api/v1/agents", "agents"},
                                                 {"GET", "/api/v1/audit", "audit"},
                                                 {"GET", "/api/v1/incidents", "incidents"},
                                                 {"GET", "/api/v1/silences", "silences"},
                                                 {"GET", "/api/v1/terminals", "terminals"},
                                                 {"POST", "/api/v1/ack", "acknowledged"},
                                                 {"POST", "/api/v1/gpu_event", "status"},
                                                 {"POST", "/api/v1/mute", "muted_until_at"},
                                                 {"POST", "/api/v1/nodes", "state"},
                                                 {"POST", "/api/v1/route_test", "severity"},
                                                 {"POST", "/api/v1/silences", "id"},
                                                 {"POST", "/api/v1/silences/expire", "expired"},
                                                 {"POST", "/api/v1/test", "delivered_ms"},
                                                 {"POST", "/api/v1/unmute", "was_muted"}}};

std::string Trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

// In the gateway's words where it has any. Whoever answers may have written them: they drive no
// terminal, and are no book.
Error Refusal(const HttpResponse& response, const std::string& path) {
  std::string words = Trimmed(response.body);
  if (words.size() > kWordsBytesMax) words = words.substr(0, kWordsBytesMax) + "…";
  words = Painted(std::move(words), Paint::kNone, false);
  const std::string answered = "answered " + std::to_string(response.status);
  if (words.empty()) words = answered + " and says no more";
  switch (response.status) {
    case 401:
    case 403:
      return {ErrorCode::kDenied, words};
    case 404:
      if (words != "Not Found") return {ErrorCode::kNotFound, words};
      return {ErrorCode::kNotFound, "there is no " + path};
    default:
      return {response.status == 409 ? ErrorCode::kExhausted : ErrorCode::kInvalidArgument,
              words.starts_with(answered) ? words : answered + ": " + words};
  }
}

}  // namespace

bool IsAnswerTo(std::string_view method, std::string_view path, const nlohmann::json& answer) {
  if (!answer.is_object()) return false;
  if (method == "GET" && path.starts_with(kOneIncident)) return answer.contains("id");
  const auto* promised = std::find_if(
      kPromised.begin(), kPromised.end(),
      [&](const Promised& entry) { return entry.method == method && entry.path == path; });
  return promised == kPromised.end() || answer.contains(promised->field);
}

Endpoint GatewayClient::Here() {
  if (access(kSocket, R_OK | W_OK) == 0) return {kSocket, 0, true};
  return {"127.0.0.1", kPort, false};
}

Result<nlohmann::json> GatewayClient::Get(const std::string& path, const std::string& query) {
  HttpRequest request;
  request.method = "GET";
  request.path = path;
  request.query = query;
  return Ask(std::move(request));
}

Result<nlohmann::json> GatewayClient::Post(const std::string& path, const std::string& body) {
  HttpRequest request;
  request.method = "POST";
  request.path = path;
  request.body = body;
  request.headers["Content-Type"] = "application/json";
  return Ask(std::move(request));
}

Result<nlohmann::json> GatewayClient::Ask(HttpRequest request) {
  const std::string method = request.method;
  const std::string path = request.path;
  boost::asio::io_context io(1);
  std::optional<HttpOutcome> outcome;
  HttpRequestOptions options;
  options.timeout = kAnswerMax;
  options.response_bytes_max = kAnswerBytesMax;
  options.tls = tls_;
  auto answered = [&outcome](HttpOutcome done) { outcome = std::move(done); };
  std::optional<SignedClient> client;
  if (keys_.empty()) {
    HttpFetch(io, gateway_, std::move(request), options, answered);
  } else {
    SignedClientOptions signing;
    signing.endpoint = gateway_;
    signing.keys = keys_;
    signing.audience = kGatewayAudience;
    signing.use = SignatureUse::kV2Only;
    signing.tls = tls_;
    client.emplace(io, std::move(signing));
    client->Fetch(std::move(request), options, answered);
  }
  io.run();
  if (!outcome->response.ok()) {
    if (gateway_.unix_socket && access(gateway_.host.c_str(), R_OK | W_OK) != 0 &&
        errno == EACCES) {
      return Error{ErrorCode::kDenied, "you may not use " + gateway_.ToString() +
                                           ": be root or of the group it belongs to, or name an "
                                           "address with --gateway"};
    }
    return Error{outcome->response.error().code, "no gateway answers at " + gateway_.ToString() +
                                                     ": " + outcome->response.error().message};
  }
  const HttpResponse& response = *outcome->response;
  if (response.status != 200) return Refusal(response, path);
  nlohmann::json json = nlohmann::json::parse(response.body, nullptr, false);
  if (!IsAnswerTo(method, path, json)) {
    return Error{ErrorCode::kCorrupt,
                 "what answers at " + gateway_.ToString() + " is not a gateway"};
  }
  return json;
}

}  // namespace sentinel
