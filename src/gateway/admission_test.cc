#include "gateway/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sentinel {
namespace {

constexpr WallTime kAsked{std::chrono::seconds(1795996334)};
const KeyPair kSlurm{"slurm-1", "secret"};

HttpRequest From(const std::string& peer) {
  HttpRequest request;
  request.peer = peer;
  return request;
}
HttpRequest SignedWith(const KeyPair& key) {
  HttpRequest request = From("10.0.0.9");
  request.signer = std::make_shared<const HttpSigner>(HttpSigner{key, 2});
  return request;
}

int StatusOf(const HttpRequest& request, OpenTo open = OpenTo::kLoopback) {
  Admission admission(open, {{"slurm", KeyRing(kSlurm)}});
  auto refusal = admission.Refusal(request, kAsked);
  return refusal ? refusal->status : 200;
}

TEST(Admission, ThisHostIsFreeAndTheNetworkIsNot) {
  EXPECT_EQ(StatusOf(From("127.0.0.1")), 200);
  EXPECT_EQ(StatusOf(From("::1")), 200);
  EXPECT_EQ(StatusOf(From("::ffff:127.0.0.1")), 200);
  EXPECT_EQ(StatusOf(From("10.0.0.9")), 401);
  EXPECT_EQ(StatusOf(From("fe80::1")), 401);
  EXPECT_EQ(StatusOf(From("unknown")), 401);
  HttpRequest unix_socket = From("unix uid=1000 pid=7");
  unix_socket.unix_peer = std::make_shared<const UnixPeer>();
  EXPECT_EQ(StatusOf(unix_socket), 200);
  EXPECT_EQ(StatusOf(unix_socket, OpenTo::kNobody), 200);
}

TEST(Admission, HowFarItIsOpenIsConfigured) {
  EXPECT_EQ(StatusOf(From("127.0.0.1"), OpenTo::kNobody), 401);
  EXPECT_EQ(StatusOf(From("10.0.0.9"), OpenTo::kNetwork), 200);
}

TEST(Admission, ASendersSignatureOrACertificateOpensFromAnywhere) {
  EXPECT_EQ(StatusOf(SignedWith(kSlurm)), 200);
  HttpRequest certified = From("10.0.0.9");
  certified.certificate = "gpu-worker-08";
  EXPECT_EQ(StatusOf(certified), 200);
}

TEST(Admission, SignatureV1IsGoodForTheContractsPathAlone) {
  HttpRequest request = From("10.0.0.9");
  request.signer = std::make_shared<const HttpSigner>(HttpSigner{kSlurm, 1});
  request.path = "/api/v1/gpu_event";
  EXPECT_EQ(StatusOf(request), 200);
  for (const char* path : {"/api/v1/cloudevents", "/api/v1/alertmanager"}) {
    request.path = path;
    EXPECT_EQ(StatusOf(request), 401) << path;
  }
}

TEST(Admission, AKeyThatIsNoSendersIsForbidden) {
  EXPECT_EQ(StatusOf(SignedWith({"hall-1", "secret"})), 403);
  EXPECT_EQ(StatusOf(SignedWith({"slurm-1", "another secret of that id"})), 403);
}

TEST(Admission, AWrongSignatureIsUnauthorizedAlsoWhereNoneIsNeeded) {
  HttpRequest request = From("127.0.0.1");
  request.signer_error = "the signature does not match";
  EXPECT_EQ(StatusOf(request), 401);
  EXPECT_EQ(StatusOf(request, OpenTo::kNetwork), 401);
  Admission admission(OpenTo::kLoopback, {});
  HttpResponse refusal = *admission.Refusal(request, kAsked);
  EXPECT_THAT(refusal.body, testing::HasSubstr("does not match"));
  EXPECT_FALSE(refusal.headers["WWW-Authenticate"].empty());
}

TEST(Admission, AnotherSiteInABrowserOfThisHostDoesNotPost) {
  HttpRequest request = From("127.0.0.1");
  request.headers["Host"] = "127.0.0.1:8080";
  request.headers["Origin"] = "http://127.0.0.1:8080";
  EXPECT_EQ(StatusOf(request), 200);
  request.headers["Origin"] = "http://elsewhere.example";
  EXPECT_EQ(StatusOf(request), 401);
}

TEST(Admission, APageUnderANameThatLeadsHereDoesNotPostAndAProgramThatUsesOneDoes) {
  HttpRequest request = From("127.0.0.1");
  request.headers["Host"] = "gateway-1:8080";
  EXPECT_EQ(StatusOf(request), 200);
  request.headers["Host"] = "rebound.example:8080";
  request.headers["Origin"] = "http://rebound.example:8080";
  EXPECT_EQ(StatusOf(request), 401);
}

TEST(Admission, ABrowserThatShowsItsCertificateDoesNotShowItForAPageOfAnotherSite) {
  HttpRequest request = From("10.0.0.9");
  request.certificate = "gpu-worker-08";
  request.headers["Host"] = "10.0.0.1:8080";
  request.headers["Origin"] = "https://10.0.0.1:8080";
  EXPECT_EQ(StatusOf(request), 200);
  request.headers["Origin"] = "https://elsewhere.example";
  EXPECT_EQ(StatusOf(request), 401);
}

}  // namespace
}  // namespace sentinel
