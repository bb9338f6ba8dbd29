#include "signature/signature_v2.h"

#include <algorithm>
#include <array>

#include "signature/nonce_memory.h"

namespace sentinel {
namespace {

constexpr size_t kHexDigits = 64;
constexpr size_t kNameBytesMax = 64;
constexpr std::string_view kKid = "kid=";
constexpr std::string_view kVersionAndSig = ";v=2;sig=";

// A signature's own fields, lower case. Of v1's they say nothing that v2 does not say itself.
constexpr std::array<std::string_view, 8> kOwnFields = {
    "x-api-key",      "x-timestamp", "x-signature",      "x-signature-v2",
    "x-timestamp-ms", "x-nonce",     "x-signed-headers", "x-key-ids"};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return lower;
}

bool IsFieldName(std::string_view name) {
  return name.size() <= kNameBytesMax && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

void AddLine(std::string_view text, std::string* out) {
  out->push_back('\n');
  out->append(text);
}

Error Malformed(std::string_view what) {
  return {ErrorCode::kDenied, "malformed " + std::string(what)};
}

Result<KeySignature> ParseOne(std::string_view text) {
  const Error malformed = Malformed(kSignatureHeader);
  if (!text.starts_with(kKid)) return malformed;
  text.remove_prefix(kKid.size());
  size_t end = text.find(kVersionAndSig);
  if (end == std::string_view::npos) return malformed;
  KeySignature signature;
  signature.key_id = text.substr(0, end);
  signature.hex = text.substr(end + kVersionAndSig.size());
  bool is_hex = std::all_of(signature.hex.begin(), signature.hex.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  if (!IsKeyId(signature.key_id) || signature.hex.size() != kHexDigits || !is_hex) {
    return malformed;
  }
  return signature;
}

}  // namespace

std::string RequestToSign(const SignedParts& parts, std::string_view key_id) {
  std::string text = "GS2";
  AddLine(parts.method, &text);
  AddLine(parts.target, &text);
  AddLine(parts.audience, &text);
  AddLine(key_id, &text);
  AddLine(parts.stamp_ms, &text);
  AddLine(parts.nonce, &text);
  AddLine(parts.body_sha256, &text);
  for (const CoveredField& field : parts.fields) {
    AddLine(field.name, &text);
    text += ':';
    text += field.value;
  }
  return text;
}

std::string AnswerToSign(const AnswerParts& parts, std::string_view key_id) {
  std::string text = "GS2-ANSWER";
  AddLine(parts.method, &text);
  AddLine(parts.target, &text);
  AddLine(parts.audience, &text);
  AddLine(key_id, &text);
  AddLine(parts.nonce, &text);
  AddLine(parts.message_id, &text);
  AddLine(std::to_string(parts.status), &text);
  AddLine(parts.body_sha256, &text);
  return text;
}

std::string WriteSignatures(const std::vector<KeySignature>& signatures) {
  std::string text;
  for (const KeySignature& signature : signatures) {
    if (!text.empty()) text += ',';
    text += kKid;
    text += signature.key_id;
    text += kVersionAndSig;
    text += signature.hex;
  }
  return text;
}

Result<std::vector<KeySignature>> ParseSignatures(std::string_view text) {
  std::vector<KeySignature> signatures;
  for (;;) {
    size_t comma = text.find(',');
    signatures.push_back(TRY(ParseOne(text.substr(0, comma))));
    if (comma == std::string_view::npos) return signatures;
    if (signatures.size() == kSignaturesMax) return Malformed(kSignatureHeader);
    text.remove_prefix(comma + 1);
  }
}

std::string WriteCovered(const std::vector<CoveredField>& fields) {
  std::string text;
  for (const CoveredField& field : fields) {
    if (!text.empty()) text += ';';
    text += field.name;
  }
  return text;
}

Result<std::vector<std::string>> ParseCovered(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    size_t end = text.find(';');
    std::string name(text.substr(0, end));
    bool fits = IsFieldName(name) && IsCoverable(name) && (names.empty() || names.back() < name);
    if (!fits || names.size() == kCoveredFieldsMax) return Malformed(kCoveredHeader);
    names.push_back(std::move(name));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (text.empty()) return Malformed(kCoveredHeader);
  }
  return names;
}

bool IsCoverable(std::string_view name) {
  std::string lower = Lower(name);
  return (lower.starts_with("x-") || lower.starts_with("ce-")) &&
         std::find(kOwnFields.begin(), kOwnFields.end(), lower) == kOwnFields.end();
}

bool IsNonce(std::string_view text) {
  return text.size() == kNonceChars && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_';
         });
}

}  // namespace sentinel
