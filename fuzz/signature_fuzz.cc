// Signature fields: nobody without a key is believed, whatever he writes; what is read is what is
// written; and what is taken once is not taken again.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/digest.h"
#include "signature/nonce_memory.h"
#include "signature/request_verifier.h"
#include "signature/signature_v2.h"

namespace {

using namespace sentinel;

const KeyPair kKey{"hall", "a secret that the fuzzer does not know"};
const Moment kNow{{std::chrono::seconds(100)}, {std::chrono::seconds(1795996334)}};

// Lines of the input, in turn.
std::string_view Line(std::string_view* rest) {
  size_t end = rest->find('\n');
  std::string_view line = rest->substr(0, end);
  rest->remove_prefix(end == std::string_view::npos ? rest->size() : end + 1);
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::map<std::string_view, std::string> fields;
  for (std::string_view name : {kSignatureHeader, kCoveredHeader, kStampHeader, kNonceHeader}) {
    fields[name] = Line(&rest);
  }
  fields["x-severity"] = Line(&rest);
  RequestParts request;
  request.method = "POST";
  request.target = Line(&rest);
  request.body = rest;
  request.field = [&](std::string_view name) -> std::string_view {
    auto found = fields.find(name);
    return found == fields.end() ? std::string_view() : found->second;
  };
  const std::vector<KeyRing> rings = {KeyRing(kKey)};
  RequestVerifier verifier({"hall-1", "boot", 16},
                           {{}, WallTime{std::chrono::seconds(1795990000)}});
  const auto refused = verifier.Verify(request, rings, kNow);
  CHECK(!refused.ok() && !refused.error().message.empty());

  auto signatures = ParseSignatures(fields[kSignatureHeader]);
  if (signatures.ok()) {
    CHECK(!signatures->empty() && signatures->size() <= kSignaturesMax);
    CHECK(WriteSignatures(*signatures) == fields[kSignatureHeader]);
  }
  auto covered = ParseCovered(fields[kCoveredHeader]);
  if (!covered.ok() || !IsNonce(fields[kNonceHeader])) return 0;
  SignedParts parts;
  parts.method = request.method;
  parts.target = request.target;
  parts.audience = "hall-1";
  parts.stamp_ms = fields[kStampHeader];
  parts.nonce = fields[kNonceHeader];
  const std::string hash = Sha256Hex(request.body);
  parts.body_sha256 = hash;
  for (const std::string& name : *covered) {
    parts.fields.push_back({name, std::string(request.field(name))});
  }
  CHECK(WriteCovered(parts.fields) == fields[kCoveredHeader]);
  fields[kSignatureHeader] =
      WriteSignatures({{kKey.key, HmacSha256Hex(kKey.secret, RequestToSign(parts, kKey.key))}});
  // Signed by us it may be taken, but not twice.
  const bool taken = verifier.Verify(request, rings, kNow).ok();
  CHECK(!verifier.Verify(request, rings, kNow).ok() || !taken);
  return 0;
}
