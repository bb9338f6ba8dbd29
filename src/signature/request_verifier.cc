#include "signature/request_verifier.h"

#include <charconv>
#include <chrono>
#include <utility>

#include "base/digest.h"

namespace sentinel {
namespace {

constexpr size_t kStampDigitsMax = 15;

Error Denied(std::string why) { return {ErrorCode::kDenied, std::move(why)}; }

Result<int64_t> ParseStamp(std::string_view text) {
  int64_t stamp = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, stamp);
  if (text.size() > kStampDigitsMax || error != std::errc() || stop != end || text[0] == '-') {
    return Denied("malformed " + std::string(kStampHeader));
  }
  return stamp;
}

}  // namespace

RequestVerifier::RequestVerifier(RequestVerifierOptions options, Moment started)
    : options_(std::move(options)),
      anchor_(started),
      started_ms_(started.wall.since_epoch.count()),
      nonces_(options_.nonces_max) {}

int64_t RequestVerifier::NowMs(Moment now) {
  if (!ClockIsSet(anchor_.wall) && ClockIsSet(now.wall)) {
    anchor_ = now;
    started_ms_ = now.wall.since_epoch.count();
  }
  return anchor_.wall.since_epoch.count() + ToMillis(now.mono - anchor_.mono);
}

Result<KeyPair> RequestVerifier::Signer(const SignedParts& parts,
                                        const std::vector<KeySignature>& signatures,
                                        const std::vector<KeyRing>& rings, WallTime now) const {
  bool known = false;
  for (const KeySignature& signature : signatures) {
    const std::string text = RequestToSign(parts, signature.key_id);
    for (const KeyRing& ring : rings) {
      std::optional<KeyPair> key = ring.Find(signature.key_id, now);
      if (!key) continue;
      known = true;
      if (ConstantTimeEqual(HmacSha256Hex(key->secret, text), signature.hex)) {
        return std::move(*key);
      }
    }
  }
  return Denied(known ? "the signature does not match: another secret, or meant for somebody else"
                      : "no key of that id is in use here");
}

Result<VerifiedRequest> RequestVerifier::Verify(const RequestParts& request,
                                                const std::vector<KeyRing>& rings, Moment now) {
  SignedParts parts;
  parts.method = request.method;
  parts.target = request.target;
  parts.audience = options_.audience;
  parts.stamp_ms = request.field(kStampHeader);
  parts.nonce = request.field(kNonceHeader);
  const std::vector<KeySignature> signatures =
      TRY(ParseSignatures(request.field(kSignatureHeader)));
  VerifiedRequest verified;
  verified.covered = TRY(ParseCovered(request.field(kCoveredHeader)));
  const int64_t stamp = TRY(ParseStamp(parts.stamp_ms));
  if (!IsNonce(parts.nonce)) return Denied("malformed " + std::string(kNonceHeader));
  std::string boot_id;
  for (const std::string& name : verified.covered) {
    parts.fields.push_back({name, std::string(request.field(name))});
    if (name == "x-boot-id") boot_id = parts.fields.back().value;
  }
  const std::string body_sha256 = Sha256Hex(request.body);
  parts.body_sha256 = body_sha256;
  verified.key = TRY(Signer(parts, signatures, rings, now.wall));

  const int64_t here = NowMs(now);
  if (boot_id.empty()) {
    if (!ClockIsSet(anchor_.wall)) {
      return Denied("this clock is not set: ask for the time and sign with the boot id");
    }
    if (stamp < started_ms_) return Denied("the message is older than this start");
  } else if (boot_id != options_.boot_id) {
    return Denied("the message is meant for an earlier start");
  }
  if (stamp < here - kMessageAgeMax.count() || stamp > here + kMessageAheadMax.count()) {
    return Denied("the message is not within 30 s before and 10 s after this clock");
  }
  nonces_.RefuseBefore(here - kMessageAgeMax.count());
  if (!nonces_.Take(stamp, parts.nonce)) return Denied("the message was taken before");
  return verified;
}

}  // namespace sentinel
