#include "signature/request_verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/digest.h"
#include "signature/signature_testing.h"

namespace sentinel {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr Moment kStart{{hours(5)}, {seconds(1795996334)}};

Moment After(Moment start, Duration passed, Duration stepped = Duration(0)) {
  auto wall = std::chrono::duration_cast<milliseconds>(passed + stepped);
  return {start.mono + passed, start.wall + wall};
}

// A request as it lies on the wire.
struct Message {
  std::string method = "POST";
  std::string target = "/api/v1/send_msg";
  std::string body = "{}";
  std::map<std::string, std::string> fields;
};

void Sign(Message* message, const std::vector<KeyPair>& keys, WallTime stamp, int nonce,
          const std::string& audience = "hall-1") {
  SignedParts parts;
  const std::string stamp_text = std::to_string(stamp.since_epoch.count());
  const std::string nonce_text = NonceOf(nonce);
  const std::string hash = Sha256Hex(message->body);
  parts.method = message->method;
  parts.target = message->target;
  parts.audience = audience;
  parts.stamp_ms = stamp_text;
  parts.nonce = nonce_text;
  parts.body_sha256 = hash;
  for (const auto& [name, value] : message->fields) parts.fields.push_back({name, value});
  std::vector<KeySignature> signatures;
  for (const KeyPair& key : keys) {
    signatures.push_back({key.key, HmacSha256Hex(key.secret, RequestToSign(parts, key.key))});
  }
  message->fields[std::string(kCoveredHeader)] = WriteCovered(parts.fields);
  message->fields[std::string(kStampHeader)] = stamp_text;
  message->fields[std::string(kNonceHeader)] = nonce_text;
  message->fields[std::string(kSignatureHeader)] = WriteSignatures(signatures);
}

class RequestVerifierTest : public testing::Test {
 protected:
  RequestVerifierTest() { Restart(kStart); }

  void Restart(Moment at, const std::string& boot = "boot-1", size_t nonces_max = 100) {
    verifier_.emplace(RequestVerifierOptions{"hall-1", boot, nonces_max}, at);
  }
  Result<VerifiedRequest> Verify(const Message& message, Moment now) {
    RequestParts parts;
    parts.method = message.method;
    parts.target = message.target;
    parts.body = message.body;
    parts.field = [&](std::string_view name) -> std::string_view {
      auto found = message.fields.find(std::string(name));
      return found == message.fields.end() ? std::string_view() : found->second;
    };
    return verifier_->Verify(parts, rings_, now);
  }
  std::string Refusal(const Message& message, Moment now) {
    auto verified = Verify(message, now);
    if (verified.ok()) return "taken";
    EXPECT_EQ(verified.error().code, ErrorCode::kDenied);
    return verified.error().message;
  }
  static Message P0(Moment at, int nonce) {
    Message message;
    message.fields["x-severity"] = "P0";
    message.fields["x-message-id"] = "m-1";
    Sign(&message, {kHallKey}, at.wall, nonce);
    return message;
  }

  std::vector<KeyRing> rings_ = {KeyRing(kHallKey)};
  std::optional<RequestVerifier> verifier_;
};

TEST_F(RequestVerifierTest, ASignedRequestIsTakenOnceWithWhatItCovers) {
  const Moment now = After(kStart, seconds(10));
  const Message message = P0(now, 1);
  auto verified = Verify(message, now);
  ASSERT_TRUE(verified.ok()) << verified.error().message;
  EXPECT_EQ(verified->key.key, "hall");
  EXPECT_EQ(verified->covered, (std::vector<std::string>{"x-message-id", "x-severity"}));
  EXPECT_THAT(Refusal(message, now), HasSubstr("taken before"));
  EXPECT_EQ(Refusal(P0(now, 2), now), "taken");
}

TEST_F(RequestVerifierTest, ACapturedP0DoesNotBecomeANotice) {
  const Moment now = After(kStart, seconds(10));
  Message captured = P0(now, 1);
  captured.fields["x-severity"] = "NOTICE";
  EXPECT_THAT(Refusal(captured, now), HasSubstr("does not match"));
  captured.fields.erase("x-severity");
  EXPECT_THAT(Refusal(captured, now), HasSubstr("does not match"));
  captured.fields[std::string(kCoveredHeader)] = "x-message-id";
  EXPECT_THAT(Refusal(captured, now), HasSubstr("does not match"));
}

TEST_F(RequestVerifierTest, ACapturedPingIsNoPressOfTheButtonNorGoodForAnotherTerminal) {
  const Moment now = After(kStart, seconds(10));
  Message ping;
  ping.target = "/api/v1/ping";
  Sign(&ping, {kHallKey}, now.wall, 1);
  Message press = ping;
  press.target = "/api/v1/ack";
  EXPECT_THAT(Refusal(press, now), HasSubstr("does not match"));
  Message asked = ping;
  asked.method = "GET";
  EXPECT_THAT(Refusal(asked, now), HasSubstr("does not match"));
  Message elsewhere;
  Sign(&elsewhere, {kHallKey}, now.wall, 2, "hall-2");
  EXPECT_THAT(Refusal(elsewhere, now), HasSubstr("does not match"));
  Message told;  // a press on its way to the gateway, sent back
  Sign(&told, {kHallKey}, now.wall, 3, std::string(kGatewayAudience));
  EXPECT_THAT(Refusal(told, now), HasSubstr("does not match"));
  EXPECT_EQ(Refusal(ping, now), "taken");
}

TEST_F(RequestVerifierTest, AgeAndFutureHaveTheirOwnBounds) {
  const Moment now = After(kStart, seconds(100));
  EXPECT_EQ(Refusal(P0(After(now, seconds(-30)), 1), now), "taken");
  EXPECT_THAT(Refusal(P0(After(now, milliseconds(-30'001)), 2), now), HasSubstr("within 30 s"));
  EXPECT_EQ(Refusal(P0(After(now, seconds(10)), 3), now), "taken");
  EXPECT_THAT(Refusal(P0(After(now, milliseconds(10'001)), 4), now), HasSubstr("within 30 s"));
}

TEST_F(RequestVerifierTest, WhatWasTakenIsNotTakenAgainHoweverTheHostsClockIsSet) {
  const Moment now = After(kStart, seconds(100));
  const Message message = P0(now, 1);
  EXPECT_EQ(Refusal(message, now), "taken");
  for (Duration passed : {Duration(seconds(1)), Duration(seconds(29)), Duration(seconds(45)),
                          Duration(hours(1)), Duration(hours(2))}) {
    for (Duration step : {Duration(0), -passed, Duration(-hours(1)), Duration(hours(1))}) {
      EXPECT_NE(Refusal(message, After(now, passed, step)), "taken") << ToMillis(passed);
    }
  }
  // And an honest sender is heard through all of it.
  const Moment stepped = After(now, hours(3), -hours(1));
  EXPECT_EQ(Refusal(P0({stepped.mono, {milliseconds(verifier_->NowMs(stepped))}}, 2), stepped),
            "taken");
}

TEST_F(RequestVerifierTest, AfterARestartNothingOlderThanItIsTaken) {
  const Moment before = After(kStart, seconds(100));
  const Message captured = P0(before, 1);
  EXPECT_EQ(Refusal(captured, before), "taken");
  const Moment again = After(before, seconds(2));
  Restart(again, "boot-2");
  EXPECT_THAT(Refusal(captured, again), HasSubstr("older than this start"));
  EXPECT_EQ(Refusal(P0(again, 2), again), "taken");
}

TEST_F(RequestVerifierTest, ASenderWhoseClockIsBehindIsHeardAfterARestartOnceItKnowsTheBoot) {
  const Moment now = After(kStart, seconds(1));
  Message late;
  Sign(&late, {kHallKey}, After(now, seconds(-5)).wall, 1);
  EXPECT_THAT(Refusal(late, now), HasSubstr("older than this start"));
  Message knowing;
  knowing.fields["x-boot-id"] = "boot-1";
  Sign(&knowing, {kHallKey}, After(now, seconds(-5)).wall, 2);
  EXPECT_EQ(Refusal(knowing, now), "taken");
  Message outdated;
  outdated.fields["x-boot-id"] = "boot-0";
  Sign(&outdated, {kHallKey}, now.wall, 3);
  EXPECT_THAT(Refusal(outdated, now), HasSubstr("earlier start"));
}

TEST_F(RequestVerifierTest, AHostWithoutAClockTakesOnlyWhatKnowsItsBootAndFollowsWhenItIsSet) {
  const Moment woke{{seconds(3)}, {seconds(4)}};  // 1970
  Restart(woke);
  const Moment now = After(woke, seconds(5));
  Message plain;
  Sign(&plain, {kHallKey}, now.wall, 1);
  EXPECT_THAT(Refusal(plain, now), HasSubstr("clock is not set"));
  Message knowing;
  knowing.fields["x-boot-id"] = "boot-1";
  Sign(&knowing, {kHallKey}, WallTime{milliseconds(verifier_->NowMs(now))}, 2);
  EXPECT_EQ(Refusal(knowing, now), "taken");
  const Moment set{now.mono + seconds(1), kStart.wall};
  EXPECT_EQ(verifier_->NowMs(set), set.wall.since_epoch.count());
  EXPECT_EQ(Refusal(P0(After(set, seconds(1)), 3), After(set, seconds(1))), "taken");
}

TEST_F(RequestVerifierTest, WhileKeysAreExchangedEitherIsEnough) {
  const Moment now = After(kStart, seconds(10));
  Message both;
  Sign(&both, {{"next", "another secret"}, kHallKey}, now.wall, 1);
  EXPECT_EQ(Refusal(both, now), "taken");
  Message unknown;
  Sign(&unknown, {{"next", "another secret"}}, now.wall, 2);
  EXPECT_THAT(Refusal(unknown, now), HasSubstr("no key of that id"));
  rings_.push_back(KeyRing(KeyPair{"hall", "of another terminal"}));
  Message theirs;
  Sign(&theirs, {{"hall", "of another terminal"}}, now.wall, 3);
  auto verified = Verify(theirs, now);
  ASSERT_TRUE(verified.ok());
  EXPECT_EQ(verified->key.secret, "of another terminal");
}

TEST_F(RequestVerifierTest, WhatIsMalformedIsRefused) {
  const Moment now = After(kStart, seconds(10));
  const auto broken = [&](std::string_view field, const std::string& value) {
    Message message = P0(now, 7);
    message.fields[std::string(field)] = value;
    return Refusal(message, now);
  };
  EXPECT_THAT(broken(kSignatureHeader, ""), HasSubstr("malformed"));
  EXPECT_THAT(broken(kNonceHeader, "short"), HasSubstr("malformed"));
  EXPECT_THAT(broken(kStampHeader, ""), HasSubstr("malformed"));
  EXPECT_THAT(broken(kStampHeader, "-5"), HasSubstr("malformed"));
  EXPECT_THAT(broken(kStampHeader, "17959963342500000000"), HasSubstr("malformed"));
  EXPECT_THAT(broken(kCoveredHeader, "X-Severity"), HasSubstr("malformed"));
  EXPECT_EQ(Refusal(P0(now, 7), now), "taken");  // nobody's refusal used up the nonce
}

}  // namespace
}  // namespace sentinel
