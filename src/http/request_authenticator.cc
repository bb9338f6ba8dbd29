#include "http/request_authenticator.h"

#include <utility>

#include "base/clock.h"
#include "base/digest.h"
#include "http/signed_message.h"
#include "signature/signature_v1.h"

namespace sentinel {
namespace {

class SigningResponder final : public HttpResponder {
 public:
  SigningResponder(const RequestAuthenticator& authenticator, Question question,
                   std::unique_ptr<HttpResponder> inner)
      : authenticator_(authenticator), question_(std::move(question)), inner_(std::move(inner)) {}

  void Send(HttpResponse response) override {
    SignAnswer(question_, authenticator_.audience(), authenticator_.rings(), WallNow(), &response);
    inner_->Send(std::move(response));
  }
  std::shared_ptr<HttpStream> Stream(HttpResponse head) override {
    return inner_->Stream(std::move(head));
  }

 private:
  const RequestAuthenticator& authenticator_;
  Question question_;
  std::unique_ptr<HttpResponder> inner_;
};

}  // namespace

RequestAuthenticator::RequestAuthenticator(AuthenticatorOptions options, std::vector<KeyRing> rings,
                                           Moment started)
    : use_(options.use),
      rings_(std::move(rings)),
      verifier_(std::move(options.verifier), started) {}

Result<HttpSigner> RequestAuthenticator::Check(HttpRequest* request, Moment now) {
  if (!request->Header(kSignatureHeader).empty()) {
    const std::string target = TargetOf(*request);
    VerifiedRequest verified = TRY(verifier_.Verify(PartsOf(*request, target), rings_, now));
    DropUncovered(request, verified.covered);
    proven_.insert(verified.key.key);
    return HttpSigner{std::move(verified.key), 2};
  }
  if (request->Header("X-Signature").empty()) {
    return Error{ErrorCode::kDenied, "it is not signed"};
  }
  HttpSigner signer = TRY(CheckV1(*request, now.wall));
  if (use_ == SignatureUse::kV2Only) {
    return Error{ErrorCode::kDenied, "it is signed v1, and v2 is demanded here"};
  }
  if (use_ == SignatureUse::kAuto && proven_.contains(signer.key.key)) {
    return Error{ErrorCode::kDenied, "it is signed v1 by a key that has been used with v2"};
  }
  DropUncovered(request, {});
  return signer;
}

Result<HttpSigner> RequestAuthenticator::CheckV1(const HttpRequest& request, WallTime now) const {
  std::string_view id = request.Header("X-API-Key");
  Error why{ErrorCode::kDenied, "X-API-Key is missing or not in use here"};
  for (const KeyRing& ring : rings_) {
    std::optional<KeyPair> key = ring.Find(id, now);
    if (!key) continue;
    Status verified = VerifyV1(key->secret, request.Header("X-Timestamp"), request.body,
                               request.Header("X-Signature"), now);
    if (verified.ok()) return HttpSigner{std::move(*key), 1};
    why = verified.error();
  }
  return why;
}

void RequestAuthenticator::Identify(HttpRequest* request, Moment now) {
  if (request->Header(kSignatureHeader).empty() && request->Header("X-Signature").empty()) return;
  Result<HttpSigner> signer = Check(request, now);
  if (signer.ok()) {
    request->signer = std::make_shared<const HttpSigner>(std::move(*signer));
  } else {
    request->signer_error = signer.error().message;
  }
}

void RequestAuthenticator::RememberProven(const KeyRing& keys) {
  for (const KeyPair& pair : keys.all()) proven_.insert(pair.key);
}

HttpResponse RequestAuthenticator::Time(const HttpRequest& request, Moment now) {
  std::string_view nonce = request.Header(kNonceHeader);
  if (!IsNonce(nonce)) {
    return JsonResponse(400, R"({"error":"X-Nonce must be 22 characters of base64url"})");
  }
  HttpResponse response = JsonResponse(
      200, R"({"unix_ms":)" + std::to_string(verifier_.NowMs(now)) + R"(,"boot_id":")" +
               verifier_.boot_id() + R"(","nonce":")" + std::string(nonce) + "\"}");
  response.headers["Cache-Control"] = "no-store";
  return response;
}

HttpHandler SignAnswers(const RequestAuthenticator& authenticator, HttpHandler handler) {
  return [&authenticator, handler = std::move(handler)](HttpRequest request,
                                                        std::unique_ptr<HttpResponder> responder) {
    Question question = QuestionOf(request);
    if (!question.nonce.empty() && !question.key_ids.empty()) {
      responder = std::make_unique<SigningResponder>(authenticator, std::move(question),
                                                     std::move(responder));
    }
    handler(std::move(request), std::move(responder));
  };
}

}  // namespace sentinel
