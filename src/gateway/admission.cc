#include "gateway/admission.h"

#include <algorithm>
#include <utility>

#include "gateway/browser_page.h"

namespace sentinel {
namespace {

constexpr std::string_view kContractPath = "/api/v1/gpu_event";

// Every browser says whose page it is that posts; a program of this host that calls it by its name
// does not.
bool PostedByAnotherSite(const HttpRequest& request) {
  return !request.Header("Origin").empty() && FromAnotherSite(request);
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
    // v1 covers no path: what is signed with it is good for the contract's alone.
    if (sender && request.signer->version != 2 && request.path != kContractPath) {
      return Refuse(401, "Unauthorized",
                    "signature v1 is good for " + std::string(kContractPath) + " alone");
    }
    if (sender) return std::nullopt;
    return Refuse(403, "Forbidden", "the key '" + request.signer->key.key + "' is no sender's");
  }
  const bool page = PostedByAnotherSite(request);
  if (!request.certificate.empty() && !page) return std::nullopt;
  bool open = open_ == OpenTo::kNetwork || (open_ == OpenTo::kLoopback && IsLoopback(request.peer));
  if (open && !page) return std::nullopt;
  return Refuse(401, "Unauthorized",
                "from here an event is taken signed with a sender's key, or over TLS with a "
                "certificate of this site");
}

}  // namespace sentinel
