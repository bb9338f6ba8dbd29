// HTTP as the rest of us sees it: plain values, no library's types.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/unix_peer.h"
#include "signature/key_ring.h"

namespace sentinel {

struct CaseInsensitiveLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};
using HttpHeaders = std::map<std::string, std::string, CaseInsensitiveLess>;

struct HttpSigner {
  KeyPair key;
  int version = 0;  // of the signature
};

struct HttpRequest {
  std::string method;
  std::string path;   // without the query
  std::string query;  // without the '?'
  HttpHeaders headers;
  std::string body;
  std::string peer;  // address, or "unix uid=<n> pid=<n>" (peer credentials)
  std::shared_ptr<const UnixPeer> unix_peer;  // null over TCP
  // Whose signature it carries, where the server looks at signatures; null without a good one, and
  // then what was wrong with the one it has, if it has one.
  std::shared_ptr<const HttpSigner> signer;
  std::string signer_error;
  // The common name of the certificate its connection has shown and proven; empty: none.
  std::string certificate;

  // A header's value, or "".
  std::string_view Header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  HttpHeaders headers;
  std::string body;
};

HttpResponse TextResponse(int status, std::string text);
HttpResponse JsonResponse(int status, std::string json);

// host[:port] with a default port, [v6]:port, either behind tls:, or unix:/path.
struct Endpoint {
  std::string host;  // or the socket's path
  uint16_t port = 0;
  bool unix_socket = false;
  bool tls = false;

  bool operator==(const Endpoint&) const = default;
  std::string ToString() const;
};
// Whether nobody but programs of this host reach it.
bool IsLocal(const Endpoint& endpoint);
Result<Endpoint> ParseEndpoint(std::string_view text, uint16_t default_port);

}  // namespace sentinel
