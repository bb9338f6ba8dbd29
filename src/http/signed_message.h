// Signature v2 on HTTP messages: both ends' half of it, without a socket.
#pragma once

#include <string>
#include <vector>

#include "http/message.h"
#include "signature/key_ring.h"
#include "signature/request_verifier.h"
#include "signature/signature_v2.h"

namespace sentinel {

// path, or path?query.
std::string TargetOf(const HttpRequest& request);

// kNonceChars from the system's source of chance.
std::string MakeNonce();

// Adds v2's fields, with a signature of each key. All X- fields that stand in the request are
// covered; those added later are not. The nonce is returned.
std::string AddSignatureV2(HttpRequest* request, std::string_view audience,
                           const std::vector<KeyPair>& keys, int64_t stamp_ms);

// Adds v1's fields.
void AddSignatureV1(HttpRequest* request, const KeyPair& key, int64_t stamp_seconds);

RequestParts PartsOf(const HttpRequest& request, const std::string& target);

// Takes the X- fields out that no signature covers: what was not signed is not there.
void DropUncovered(HttpRequest* request, const std::vector<std::string>& covered);

// What an answer to a question is bound to; kept while the request is handed on.
struct Question {
  std::string method;
  std::string target;
  std::string nonce;  // empty: an answer is not signed
  std::string message_id;
  std::vector<std::string> key_ids;  // that the asker knows
};
Question QuestionOf(const HttpRequest& request);

void SignAnswer(const Question& question, std::string_view audience,
                const std::vector<KeyRing>& rings, WallTime now, HttpResponse* response);
// Whether `response` is signed as the answer of `audience` to this question.
bool IsAnswerOf(const Question& question, std::string_view audience, const KeyRing& keys,
                WallTime now, const HttpResponse& response);

}  // namespace sentinel
