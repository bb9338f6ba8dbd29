#include "http/message.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace sentinel {
namespace {

constexpr size_t kUnixPathMax = 107;  // sun_path less its terminating zero

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

Error BadEndpoint(std::string_view text, std::string_view why) {
  return Error{ErrorCode::kInvalidArgument,
               "'" + std::string(text) + "' is not an address: " + std::string(why) +
                   " (expected host[:port], [v6]:port, either behind tls:, or unix:/path)"};
}

}  // namespace

bool CaseInsensitiveLess::operator()(std::string_view a, std::string_view b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](char x, char y) { return Lower(x) < Lower(y); });
}

std::string_view HttpRequest::Header(std::string_view name) const {
  auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

HttpResponse TextResponse(int status, std::string text) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(text);
  return response;
}

HttpResponse JsonResponse(int status, std::string json) {
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body = std::move(json);
  return response;
}

std::string Endpoint::ToString() const {
  if (unix_socket) return "unix:" + host;
  bool v6 = host.find(':') != std::string::npos;
  return (tls ? "tls:" : "") + (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool IsLocal(const Endpoint& endpoint) {
  return endpoint.unix_socket || endpoint.host.starts_with("127.") || endpoint.host == "::1" ||
         endpoint.host == "localhost";
}

Result<Endpoint> ParseEndpoint(std::string_view text, uint16_t default_port) {
  Endpoint endpoint;
  endpoint.port = default_port;
  if (text.starts_with("unix:")) {
    endpoint.host = text.substr(5);
    endpoint.port = 0;
    endpoint.unix_socket = true;
    if (endpoint.host.empty()) return BadEndpoint(text, "the socket's path is missing");
    if (endpoint.host.size() > kUnixPathMax) return BadEndpoint(text, "the path is too long");
    return endpoint;
  }
  if (text.find("://") != std::string_view::npos) {
    return BadEndpoint(text, "it is no URL: leave out what stands before the host");
  }
  constexpr std::string_view kTls = "tls:";
  const std::string_view whole = text;
  if (text.starts_with(kTls)) {
    endpoint.tls = true;
    text.remove_prefix(kTls.size());
  }
  std::string_view port;
  bool has_port = false;
  if (text.starts_with("[")) {
    size_t close = text.find(']');
    if (close == std::string_view::npos) return BadEndpoint(whole, "']' is missing");
    endpoint.host = text.substr(1, close - 1);
    std::string_view rest = text.substr(close + 1);
    has_port = rest.starts_with(":");
    if (!rest.empty() && !has_port) return BadEndpoint(whole, "what follows ']' is not a port");
    if (has_port) port = rest.substr(1);
  } else {
    size_t colon = text.find(':');
    endpoint.host = text.substr(0, colon);
    has_port = colon != std::string_view::npos;
    if (has_port) port = text.substr(colon + 1);
    if (port.find(':') != std::string_view::npos) {
      return BadEndpoint(whole, "an IPv6 address needs brackets");
    }
  }
  if (endpoint.host.empty()) return BadEndpoint(whole, "the host is missing");
  if (endpoint.host.find_first_of(" \t\r\n/@") != std::string::npos) {
    return BadEndpoint(whole, "the host holds a character no host has");
  }
  if (has_port) {
    auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
    if (error != std::errc() || end != port.data() + port.size()) {
      return BadEndpoint(whole, "the port is not a number up to 65535");
    }
  }
  return endpoint;
}

}  // namespace sentinel
