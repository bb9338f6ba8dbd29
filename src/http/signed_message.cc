#include "http/signed_message.h"

#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/digest.h"
#include "signature/nonce_memory.h"
#include "signature/signature_v1.h"

namespace sentinel {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return lower;
}

AnswerParts PartsOfAnswer(const Question& question, std::string_view audience,
                          const HttpResponse& response, std::string_view body_sha256) {
  AnswerParts parts;
  parts.method = question.method;
  parts.target = question.target;
  parts.audience = audience;
  parts.nonce = question.nonce;
  parts.message_id = question.message_id;
  parts.status = response.status;
  parts.body_sha256 = body_sha256;
  return parts;
}

}  // namespace

std::string TargetOf(const HttpRequest& request) {
  return request.query.empty() ? request.path : request.path + "?" + request.query;
}

std::string MakeNonce() {
  constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<unsigned char, kNonceChars> chance{};
  CHECK(RAND_bytes(chance.data(), static_cast<int>(chance.size())) == 1);
  std::string nonce;
  for (unsigned char byte : chance) nonce += kAlphabet[byte & 63];
  return nonce;
}

std::string AddSignatureV2(HttpRequest* request, std::string_view audience,
                           const std::vector<KeyPair>& keys, int64_t stamp_ms) {
  const std::string target = TargetOf(*request);
  const std::string stamp = std::to_string(stamp_ms);
  const std::string body_sha256 = Sha256Hex(request->body);
  std::string nonce = MakeNonce();
  SignedParts parts;
  parts.method = request->method;
  parts.target = target;
  parts.audience = audience;
  parts.stamp_ms = stamp;
  parts.nonce = nonce;
  parts.body_sha256 = body_sha256;
  for (const auto& [name, value] : request->headers) {
    if (IsCoverable(name)) parts.fields.push_back({Lower(name), value});
  }
  std::sort(parts.fields.begin(), parts.fields.end(),
            [](const CoveredField& a, const CoveredField& b) { return a.name < b.name; });
  CHECK(parts.fields.size() <= kCoveredFieldsMax);
  std::vector<KeySignature> signatures;
  for (const KeyPair& key : keys) {
    signatures.push_back({key.key, HmacSha256Hex(key.secret, RequestToSign(parts, key.key))});
  }
  request->headers[std::string(kCoveredHeader)] = WriteCovered(parts.fields);
  request->headers[std::string(kStampHeader)] = stamp;
  request->headers[std::string(kNonceHeader)] = nonce;
  request->headers[std::string(kSignatureHeader)] = WriteSignatures(signatures);
  return nonce;
}

void AddSignatureV1(HttpRequest* request, const KeyPair& key, int64_t stamp_seconds) {
  std::string timestamp = std::to_string(stamp_seconds);
  request->headers["X-API-Key"] = key.key;
  request->headers["X-Signature"] = SignV1(key.secret, timestamp, request->body);
  request->headers["X-Timestamp"] = std::move(timestamp);
}

RequestParts PartsOf(const HttpRequest& request, const std::string& target) {
  RequestParts parts;
  parts.method = request.method;
  parts.target = target;
  parts.body = request.body;
  parts.field = [&request](std::string_view name) { return request.Header(name); };
  return parts;
}

void DropUncovered(HttpRequest* request, const std::vector<std::string>& covered) {
  std::erase_if(request->headers, [&](const auto& field) {
    if (!IsCoverable(field.first)) return false;
    return !std::binary_search(covered.begin(), covered.end(), Lower(field.first));
  });
}

Question QuestionOf(const HttpRequest& request) {
  Question question;
  if (!IsNonce(request.Header(kNonceHeader))) return question;
  question.method = request.method;
  question.target = TargetOf(request);
  question.nonce = request.Header(kNonceHeader);
  question.message_id = request.Header(kMessageIdHeader);
  if (auto signatures = ParseSignatures(request.Header(kSignatureHeader)); signatures.ok()) {
    for (KeySignature& signature : *signatures) {
      question.key_ids.push_back(std::move(signature.key_id));
    }
    return question;
  }
  std::string_view ids = request.Header(kKeyIdsHeader);
  while (!ids.empty() && question.key_ids.size() < kSignaturesMax) {
    size_t comma = ids.find(',');
    std::string_view id = ids.substr(0, comma);
    if (IsKeyId(id)) question.key_ids.emplace_back(id);
    ids.remove_prefix(comma == std::string_view::npos ? ids.size() : comma + 1);
  }
  return question;
}

void SignAnswer(const Question& question, std::string_view audience,
                const std::vector<KeyRing>& rings, WallTime now, HttpResponse* response) {
  if (question.nonce.empty()) return;
  const std::string body_sha256 = Sha256Hex(response->body);
  const AnswerParts parts = PartsOfAnswer(question, audience, *response, body_sha256);
  std::vector<KeySignature> signatures;
  for (const std::string& id : question.key_ids) {
    const std::string text = AnswerToSign(parts, id);
    for (const KeyRing& ring : rings) {
      std::optional<KeyPair> key = ring.Find(id, now);
      if (!key || signatures.size() == kSignaturesMax) continue;
      KeySignature signature{id, HmacSha256Hex(key->secret, text)};
      bool there = std::any_of(signatures.begin(), signatures.end(),
                               [&](const KeySignature& s) { return s.hex == signature.hex; });
      if (!there) signatures.push_back(std::move(signature));
    }
  }
  if (!signatures.empty()) {
    response->headers[std::string(kSignatureHeader)] = WriteSignatures(signatures);
  }
}

bool IsAnswerOf(const Question& question, std::string_view audience, const KeyRing& keys,
                WallTime now, const HttpResponse& response) {
  auto field = response.headers.find(kSignatureHeader);
  if (field == response.headers.end()) return false;
  auto signatures = ParseSignatures(field->second);
  if (!signatures.ok()) return false;
  const std::string body_sha256 = Sha256Hex(response.body);
  const AnswerParts parts = PartsOfAnswer(question, audience, response, body_sha256);
  for (const KeySignature& signature : *signatures) {
    std::optional<KeyPair> key = keys.Find(signature.key_id, now);
    if (!key) continue;
    std::string ours = HmacSha256Hex(key->secret, AnswerToSign(parts, key->key));
    if (ConstantTimeEqual(ours, signature.hex)) return true;
  }
  return false;
}

}  // namespace sentinel
