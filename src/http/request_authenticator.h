// Who sends a request, by its signature, and answers that the sender can believe.
//
// Both versions are looked at over the raw bytes, before anything is parsed. What a signature does
// not cover is taken out of the request: v1 covers no field, v2 those it names.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "http/server.h"
#include "signature/key_ring.h"
#include "signature/request_verifier.h"

namespace sentinel {

enum class SignatureUse : uint8_t {
  kAuto,    // v1 until the other side has once proven to know v2
  kV1Only,  // sends v1 alone; believes either
  kV2Only,
};

struct AuthenticatorOptions {
  RequestVerifierOptions verifier;
  SignatureUse use = SignatureUse::kAuto;
};

class RequestAuthenticator {
 public:
  // Everybody in `rings` may sign; what each may do is the caller's business.
  RequestAuthenticator(AuthenticatorOptions options, std::vector<KeyRing> rings, Moment started);

  // Others may sign from here on; what was taken stays taken.
  void Reconfigure(std::vector<KeyRing> rings) { rings_ = std::move(rings); }

  // kDenied with words for a log. A key that was once used with v2 is not believed with v1 again
  // (kAuto).
  Result<HttpSigner> Check(HttpRequest* request, Moment now);

  // The same, told in the request itself; nothing if it is not signed.
  void Identify(HttpRequest* request, Moment now);

  // These have been used with v2 in an earlier process.
  void RememberProven(const KeyRing& keys);

  // GET /api/v1/time: what a sender without a clock, or behind a restart of ours, has to know. Its
  // signature comes with SignAnswers.
  HttpResponse Time(const HttpRequest& request, Moment now);

  const std::vector<KeyRing>& rings() const { return rings_; }
  const std::string& audience() const { return verifier_.audience(); }

 private:
  Result<HttpSigner> CheckV1(const HttpRequest& request, WallTime now) const;

  SignatureUse use_;
  std::vector<KeyRing> rings_;
  RequestVerifier verifier_;
  std::set<std::string> proven_;  // key ids; as many as there are keys
};

// Has every answer of `handler` signed that goes to a request with a nonce and a key of ours.
// `authenticator` outlives the server that is given it. Streams are not signed.
HttpHandler SignAnswers(const RequestAuthenticator& authenticator, HttpHandler handler);

}  // namespace sentinel
