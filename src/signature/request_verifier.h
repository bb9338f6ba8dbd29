// Whether a request is signed v2 by somebody we share a key with, for us, now, and for the first
// time. Pure.
//
// Its clock runs from the start it is given and never steps: a host's clock that is set back must
// not make old messages new. A start before any clock was set (1970) is followed when it is set.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "signature/key_ring.h"
#include "signature/nonce_memory.h"
#include "signature/signature_v2.h"

namespace sentinel {

// How long a message may be on its way, and how far its sender's clock may be ahead of ours.
constexpr std::chrono::milliseconds kMessageAgeMax{30'000};
constexpr std::chrono::milliseconds kMessageAheadMax{10'000};

struct RequestParts {
  std::string_view method;
  std::string_view target;
  std::string_view body;
  // A field's value, or "".
  std::function<std::string_view(std::string_view name)> field;
};

struct VerifiedRequest {
  KeyPair key;
  std::vector<std::string> covered;  // lower-case names of fields that may be believed
};

struct RequestVerifierOptions {
  std::string audience;        // who we are
  std::string boot_id;         // this life of ours
  size_t nonces_max = 65'536;  // beyond: NonceMemory's
};

class RequestVerifier {
 public:
  RequestVerifier(RequestVerifierOptions options, Moment started);

  // kDenied with words for a log. The signature is checked first: who does not hold a key learns
  // nothing about our clock.
  //
  // A message that names our boot id may be stamped before our start. Without it, what is older
  // than our start is refused, since we do not know what the last process has taken; so is
  // everything while our clock is not set.
  Result<VerifiedRequest> Verify(const RequestParts& request, const std::vector<KeyRing>& rings,
                                 Moment now);

  // What it is by this clock: what senders are told to stamp with.
  int64_t NowMs(Moment now);

  const std::string& audience() const { return options_.audience; }
  const std::string& boot_id() const { return options_.boot_id; }

 private:
  Result<KeyPair> Signer(const SignedParts& parts, const std::vector<KeySignature>& signatures,
                         const std::vector<KeyRing>& rings, WallTime now) const;

  RequestVerifierOptions options_;
  Moment anchor_;
  int64_t started_ms_;
  NonceMemory nonces_;
};

}  // namespace sentinel
