#include "ctl/gateway_client.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include "http/client.h"

namespace sentinel {
namespace {

constexpr const char* kSocket = "/run/gpu-sentinel/gateway.sock";
// 2000 incidents with all that was told of each.
constexpr size_t kAnswerBytesMax = 256u << 20;

std::string Trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

}  // namespace

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
  const std::string path = request.path;
  boost::asio::io_context io(1);
  std::optional<HttpOutcome> outcome;
  HttpRequestOptions options;
  options.timeout = std::chrono::seconds(10);
  options.response_bytes_max = kAnswerBytesMax;
  HttpFetch(io, gateway_, std::move(request), options,
            [&outcome](HttpOutcome done) { outcome = std::move(done); });
  io.run();
  if (!outcome->response.ok()) {
    return Error{outcome->response.error().code, "no gateway answers at " + gateway_.ToString() +
                                                     ": " + outcome->response.error().message};
  }
  const HttpResponse& response = *outcome->response;
  if (response.status == 404) return Error{ErrorCode::kNotFound, "there is no " + path};
  if (response.status != 200) {
    return Error{ErrorCode::kInvalidArgument,
                 "answered " + std::to_string(response.status) + ": " + Trimmed(response.body)};
  }
  nlohmann::json json = nlohmann::json::parse(response.body, nullptr, false);
  if (json.is_discarded()) {
    return Error{ErrorCode::kCorrupt,
                 "what answers at " + gateway_.ToString() + " is not a gateway"};
  }
  return json;
}

}  // namespace sentinel
