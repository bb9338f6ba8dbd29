// Both ends of signature v2 over real sockets: what is believed, and what is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "http/client.h"
#include "http/request_authenticator.h"
#include "http/server.h"
#include "http/signed_client.h"
#include "http/signed_message.h"
#include "http/test_peer.h"
#include "signature/signature_testing.h"
#include "signature/signature_v1.h"

namespace sentinel {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

Moment Shifted(Duration shift) {
  Moment now = MomentNow();
  now.wall.since_epoch += std::chrono::duration_cast<milliseconds>(shift);
  return now;
}

// A terminal that is spoken to at /say, and whatever lies between it and the one who speaks.
class SignedTest : public testing::Test {
 protected:
  SignedTest() {
    Restart();
    auto made = HttpServer::Listen(
        io_, Endpoint{"127.0.0.1", 0, false}, {},
        [this](HttpRequest request, std::unique_ptr<HttpResponder> responder) {
          heard_.push_back(request);
          if (tamper_) tamper_(&request);
          if (!knows_v2_) return Plain(request, *responder);
          SignAnswers(*door_, [this](HttpRequest inner, std::unique_ptr<HttpResponder> out) {
            Take(std::move(inner), *out);
          })(std::move(request), std::move(responder));
        });
    EXPECT_TRUE(made.ok());
    server_ = std::move(*made);
  }

  void Restart(Duration clock = Duration(0)) {
    clock_ = clock;
    door_.emplace(AuthenticatorOptions{{"hall-1", "boot-" + std::to_string(++boots_), 1000}, use_},
                  std::vector<KeyRing>{ring_}, Shifted(clock_));
  }

  void Take(HttpRequest request, HttpResponder& responder) {
    if (request.path == "/api/v1/time")
      return responder.Send(door_->Time(request, Shifted(clock_)));
    auto signer = door_->Check(&request, Shifted(clock_));
    if (!signer.ok()) return responder.Send(TextResponse(401, signer.error().message));
    versions_.push_back(signer->version);
    severities_.emplace_back(request.Header("X-Severity"));
    responder.Send(TextResponse(200, "played"));
  }
  // A lamp of another maker.
  void Plain(const HttpRequest& request, HttpResponder& responder) {
    bool good = VerifyV1(kHallKey.secret, request.Header("X-Timestamp"), request.body,
                         request.Header("X-Signature"), Shifted(clock_).wall)
                    .ok();
    responder.Send(TextResponse(good ? 200 : 401, ""));
  }

  SignedClient& Client(SignatureUse use = SignatureUse::kAuto) {
    if (!client_) {
      client_.emplace(
          io_, SignedClientOptions{{"127.0.0.1", server_->port(), false}, ring_, "hall-1", use});
    }
    return *client_;
  }
  HttpOutcome Say(const std::string& body = "fire", const std::string& id = "m-1") {
    HttpRequest request;
    request.method = "POST";
    request.path = "/say";
    request.body = body;
    request.headers["X-Message-Id"] = id;
    request.headers["X-Severity"] = "P0";
    return Through(std::move(request));
  }
  HttpOutcome Through(HttpRequest request) {
    std::optional<HttpOutcome> outcome;
    Client().Fetch(std::move(request), {}, [&](HttpOutcome got) { outcome = std::move(got); });
    RunUntil(io_, [&] { return outcome.has_value(); });
    return outcome.value_or(HttpOutcome{});
  }
  HttpResponse Replay(HttpRequest request) {
    std::optional<HttpOutcome> outcome;
    HttpFetch(io_, {"127.0.0.1", server_->port(), false}, std::move(request), {},
              [&](HttpOutcome got) { outcome = std::move(got); });
    RunUntil(io_, [&] { return outcome.has_value(); });
    return outcome->response.ok() ? *outcome->response : HttpResponse{};
  }
  // What went over the wire last, as its sender wrote it.
  HttpRequest Captured() const {
    HttpRequest request = heard_.back();
    request.headers.erase("Host");
    request.headers.erase("Connection");
    request.headers.erase("Content-Length");
    return request;
  }

  boost::asio::io_context io_;
  KeyRing ring_{kHallKey};
  SignatureUse use_ = SignatureUse::kAuto;
  Duration clock_{0};
  int boots_ = 0;
  bool knows_v2_ = true;
  std::function<void(HttpRequest*)> tamper_;
  std::vector<HttpRequest> heard_;
  std::vector<int> versions_;
  std::vector<std::string> severities_;
  std::optional<RequestAuthenticator> door_;
  std::unique_ptr<HttpServer> server_;
  std::optional<SignedClient> client_;
};

TEST_F(SignedTest, BothVersionsGoAlongUntilTheOtherSideHasAnsweredV2) {
  int told = 0;
  Client().OnProven([&] { ++told; });
  ASSERT_EQ(Say().response->status, 200);
  EXPECT_FALSE(heard_.back().Header("X-Signature").empty());
  EXPECT_EQ(versions_.back(), 2);
  EXPECT_EQ(severities_.back(), "P0");
  EXPECT_TRUE(Client().proven());
  ASSERT_EQ(Say("fire", "m-2").response->status, 200);
  EXPECT_TRUE(heard_.back().Header("X-Signature").empty());
  EXPECT_EQ(told, 1);
}

TEST_F(SignedTest, ALampThatKnowsV1AloneGoesOnWorking) {
  knows_v2_ = false;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(Say().response->status, 200);
  EXPECT_FALSE(Client().proven());
  EXPECT_TRUE(VerifyV1(kHallKey.secret, heard_.back().Header("X-Timestamp"), "fire",
                       heard_.back().Header("X-Signature"), WallNow())
                  .ok());
}

TEST_F(SignedTest, OnceProvenNothingUnsignedIsBelievedWhateverItSays) {
  ASSERT_TRUE(Say().response.ok());
  knows_v2_ = false;  // somebody else answers now
  HttpOutcome outcome = Say("fire", "m-2");
  ASSERT_FALSE(outcome.response.ok());
  EXPECT_EQ(outcome.response.error().code, ErrorCode::kDenied);
  EXPECT_THAT(outcome.response.error().message, HasSubstr("not signed with a key of hall-1"));
  EXPECT_TRUE(heard_.back().Header("X-Signature").empty());
  client_.reset();
  Client().RememberProven();  // as after a restart
  EXPECT_FALSE(Say("fire", "m-3").response.ok());
}

TEST_F(SignedTest, WhoIsConfiguredForV1IsSpokenToWithItForEver) {
  knows_v2_ = false;
  Client(SignatureUse::kV1Only).RememberProven();
  ASSERT_EQ(Say().response->status, 200);
  EXPECT_TRUE(heard_.back().Header(kSignatureHeader).empty());
  EXPECT_FALSE(Client().proven());
}

TEST_F(SignedTest, WhoIsConfiguredForV2NeverHearsV1) {
  Client(SignatureUse::kV2Only);
  ASSERT_EQ(Say().response->status, 200);
  EXPECT_TRUE(heard_.front().Header("X-Signature").empty());
}

TEST_F(SignedTest, ACapturedP0IsNeitherReplayedNorMadeANotice) {
  ASSERT_EQ(Say().response->status, 200);
  HttpRequest captured = Captured();
  EXPECT_EQ(Replay(captured).status, 401);
  HttpRequest lesser = captured;
  lesser.headers["X-Severity"] = "NOTICE";
  EXPECT_EQ(Replay(lesser).status, 401);
  // The old signature alone, taken from the first message, of a key that has been used with v2.
  HttpRequest downgraded = lesser;
  for (std::string_view field : {kSignatureHeader, kNonceHeader, kStampHeader, kCoveredHeader}) {
    downgraded.headers.erase(std::string(field));
  }
  HttpResponse refused = Replay(downgraded);
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.body, HasSubstr("used with v2"));
  EXPECT_EQ(severities_, std::vector<std::string>{"P0"});
}

TEST_F(SignedTest, WhatV1DoesNotCoverIsNotThere) {
  Client(SignatureUse::kV1Only);
  ASSERT_EQ(Say().response->status, 200);
  EXPECT_EQ(versions_, std::vector<int>{1});
  EXPECT_EQ(severities_, std::vector<std::string>{""});
}

TEST_F(SignedTest, WhatWasAddedOnTheWayIsNotThere) {
  tamper_ = [](HttpRequest* request) { request->headers["X-Added"] = "by a proxy"; };
  ASSERT_EQ(Say().response->status, 200);
  std::vector<std::string> covered = {"x-message-id"};
  HttpRequest request;
  request.headers = {{"X-Message-Id", "m"}, {"X-Added", "a"}, {"Host", "h"}, {"X-Nonce", "n"}};
  DropUncovered(&request, covered);
  EXPECT_EQ(request.headers.size(), 3u);
  EXPECT_EQ(request.Header("X-Added"), "");
}

TEST_F(SignedTest, AClockInAnotherYearIsLearnedWithinTheSameRequest) {
  ASSERT_EQ(Say().response->status, 200);
  Restart(-hours(24 * 365 * 3));
  HttpOutcome outcome = Say("fire", "m-2");
  ASSERT_TRUE(outcome.response.ok()) << outcome.response.error().message;
  EXPECT_EQ(outcome.response->status, 200);
  EXPECT_NEAR(static_cast<double>(Client().clock_ahead().count()),
              static_cast<double>(milliseconds(-hours(24 * 365 * 3)).count()), 2000);
}

TEST_F(SignedTest, ATerminalThatWakesIn1970IsLitByAGatewayThatAsksItsTime) {
  Restart(seconds(20) - WallNow().since_epoch);
  ASSERT_EQ(Say().response->status, 200);
  ASSERT_EQ(Say("fire", "m-2").response->status, 200);
  EXPECT_EQ(heard_.back().Header(kBootHeader), "boot-2");
  // The same year comes again with the next start: what was said in it before does not count.
  HttpRequest captured = Captured();
  Restart(seconds(20) - WallNow().since_epoch);
  EXPECT_EQ(Replay(captured).status, 401);
}

TEST_F(SignedTest, TheTimeIsBelievedOnlySigned) {
  ring_ = KeyRing(KeyPair{"hall", "another secret"});
  ASSERT_EQ(Say().response->status, 401);
  EXPECT_EQ(Client().clock_ahead().count(), 0);
  HttpRequest question;
  question.method = "GET";
  question.path = "/api/v1/time";
  question.headers[std::string(kNonceHeader)] = MakeNonce();
  question.headers[std::string(kKeyIdsHeader)] = "somebody,hall";
  HttpResponse answer = Replay(question);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(IsAnswerOf(QuestionOf(question), "hall-1", KeyRing(kHallKey), WallNow(), answer));
  EXPECT_FALSE(IsAnswerOf(QuestionOf(question), "hall-2", KeyRing(kHallKey), WallNow(), answer));
  question.headers[std::string(kNonceHeader)] = "short";
  EXPECT_EQ(Replay(question).status, 400);
}

TEST_F(SignedTest, AnAnswerToAnotherQuestionIsNone) {
  // Who swallows a message cannot have its answer made by asking the terminal something harmless.
  HttpRequest message;
  message.method = "POST";
  message.path = "/say";
  AddSignatureV2(&message, "hall-1", {kHallKey}, WallNow().since_epoch.count());
  HttpRequest harmless;
  harmless.method = "GET";
  harmless.path = "/api/v1/time";
  harmless.headers[std::string(kNonceHeader)] = std::string(message.Header(kNonceHeader));
  harmless.headers[std::string(kKeyIdsHeader)] = "hall";
  HttpResponse answer = Replay(harmless);
  EXPECT_TRUE(IsAnswerOf(QuestionOf(harmless), "hall-1", ring_, WallNow(), answer));
  EXPECT_FALSE(IsAnswerOf(QuestionOf(message), "hall-1", ring_, WallNow(), answer));
  HttpResponse other = answer;
  other.body += " ";
  EXPECT_FALSE(IsAnswerOf(QuestionOf(harmless), "hall-1", ring_, WallNow(), other));
  other = answer;
  other.status = 401;
  EXPECT_FALSE(IsAnswerOf(QuestionOf(harmless), "hall-1", ring_, WallNow(), other));
}

TEST_F(SignedTest, KeysAreExchangedWithoutAMessageLost) {
  KeyPair next{"hall-2", "fedcba9876543210"};
  next.not_before = WallNow();
  ASSERT_EQ(Say().response->status, 200);
  SignedClientOptions both{
      {"127.0.0.1", server_->port(), false}, KeyRing({kHallKey, next}), "hall-1"};
  client_.emplace(io_, both);
  ASSERT_EQ(Say("fire", "m-2").response->status, 200);  // it knows the old one still
  ring_.Replace({kHallKey, next});
  ASSERT_EQ(Say("fire", "m-3").response->status, 200);
  ring_.Replace({next});
  ASSERT_EQ(Say("fire", "m-4").response->status, 200);
  EXPECT_TRUE(Client().proven());
}

TEST_F(SignedTest, WithoutAValidKeyNothingIsSent) {
  KeyPair ended = kHallKey;
  ended.not_after = WallNow();
  ring_ = KeyRing(ended);
  HttpOutcome outcome = Say();
  ASSERT_FALSE(outcome.response.ok());
  EXPECT_THAT(outcome.response.error().message, HasSubstr("valid now"));
  EXPECT_TRUE(heard_.empty());
}

}  // namespace
}  // namespace sentinel
