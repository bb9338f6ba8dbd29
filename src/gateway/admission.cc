#include "gateway/admission.h"

#include <algorithm>
#include <utility>

namespace sentinel {
namespace {

bool Loopback(std::string_view peer) {
  return peer.starts_with("127.") || peer == "::1" || peer.starts_with("::ffff:127.");
}

// A page of another site in a browser on this host: its requests come from loopback, too.
bool FromAnotherSite(const HttpRequest& request) {
  const std::string_view origin = request.Header("Origin");
  const std::string host(request.Header("Host"));
  return !origin.empty() && origin != "http://" + host && origin != "https://" + host;
}

HttpResponse Refuse(int status, std::string_view word, const std::string& why) {
  HttpResponse response = TextResponse(status, std::string(word) + ": " + why + "\n");
  // Every 401 names a way in (RFC 9110).
  if (status == 401) response.headers["WWW-Authenticate"] = "Sentinel-Signature";
  return response;
}

}  // namespace

Admission::Admission(OpenTo open, std::map<std::string, KeyRing> senders)
    : open_(open), senders_(std::move(senders)) {}

std::optional<HttpResponse> Admission::Refusal(const HttpRequest& request, WallTime now) const {
  if (request.unix_peer != nullptr) return std::nullopt;
  // Who signs wrongly is told so, also where nobody need sign.
  if (!request.signer_error.empty()) return Refuse(401, "Unauthorized", request.signer_error);
  if (request.signer != nullptr) {
    bool sender = std::any_of(senders_.begin(), senders_.end(), [&](const auto& entry) {
      return entry.second.Holds(request.signer->key, now);
    });
    if (sender) return std::nullopt;
    return Refuse(403, "Forbidden", "the key '" + request.signer->key.key + "' is no sender's");
  }
  if (!request.certificate.empty()) return std::nullopt;
  bool open = open_ == OpenTo::kNetwork || (open_ == OpenTo::kLoopback && Loopback(request.peer));
  if (open && !FromAnotherSite(request)) return std::nullopt;
  return Refuse(401, "Unauthorized",
                "from here an event is taken signed with a sender's key, or over TLS with a "
                "certificate of this site");
}

}  // namespace sentinel
