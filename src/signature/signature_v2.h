// Signature v2: everything a message means, and what its answer says (docs/formats/signature.md).
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "signature/key_ring.h"

namespace sentinel {

// Who is spoken to where it is a gateway; a terminal goes by its name, which holds no ':'.
constexpr std::string_view kGatewayAudience = ":gateway";

// The header fields of a signed message beside those it covers.
constexpr std::string_view kSignatureHeader = "X-Signature-V2";
constexpr std::string_view kStampHeader = "X-Timestamp-Ms";
constexpr std::string_view kNonceHeader = "X-Nonce";
constexpr std::string_view kCoveredHeader = "X-Signed-Headers";
// Covered like any other: which life of the receiver the message is meant for.
constexpr std::string_view kBootHeader = "X-Boot-Id";
constexpr std::string_view kMessageIdHeader = "X-Message-Id";
// Which keys an answer may be signed with, where the question itself is not signed.
constexpr std::string_view kKeyIdsHeader = "X-Key-Ids";

constexpr size_t kCoveredFieldsMax = 32;
constexpr size_t kSignaturesMax = 2 * kActiveKeysMax;  // of one message

struct CoveredField {
  std::string name;  // lower case
  std::string value;
};

struct SignedParts {
  std::string_view method;
  std::string_view target;  // path, or path?query
  std::string_view audience;
  std::string_view stamp_ms;  // decimal
  std::string_view nonce;
  std::string_view body_sha256;  // lower-case hex
  std::vector<CoveredField> fields;
};
std::string RequestToSign(const SignedParts& parts, std::string_view key_id);

// What an answer is bound to: one question, and nothing that looks like it.
struct AnswerParts {
  std::string_view method;
  std::string_view target;
  std::string_view audience;    // of the question: who answers
  std::string_view nonce;       // of the question
  std::string_view message_id;  // of the question; empty if it had none
  int status = 0;
  std::string_view body_sha256;
};
std::string AnswerToSign(const AnswerParts& parts, std::string_view key_id);

struct KeySignature {
  std::string key_id;
  std::string hex;  // 64 lower-case digits
};
// "kid=<id>;v=2;sig=<hex>", one after another with ','.
std::string WriteSignatures(const std::vector<KeySignature>& signatures);
// kDenied unless it is exactly that, with 1 to kSignaturesMax of them.
Result<std::vector<KeySignature>> ParseSignatures(std::string_view text);

// Names as they stand in kCoveredHeader: lower case, ascending, with ';' between.
std::string WriteCovered(const std::vector<CoveredField>& fields);
// kDenied for anything else, and for the names of the signature's own fields.
Result<std::vector<std::string>> ParseCovered(std::string_view text);

// Whether a field may be covered: it begins with X- or CE- (CloudEvents) and does not belong to a
// signature itself.
bool IsCoverable(std::string_view name);
bool IsNonce(std::string_view text);

}  // namespace sentinel
