// Who is believed, and what a press of the button does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "gateway/gateway_testing.h"
#include "http/signed_message.h"
#include "store/store.h"

namespace sentinel {
namespace {

using testing::HasSubstr;

TEST_F(GatewayTest, AKeyFileThatOthersCanReadIsRefusedAlsoWithoutTerminals) {
  EXPECT_TRUE(CheckKeys(Options()).ok());
  chmod(In("key").c_str(), 0644);
  EXPECT_FALSE(CheckKeys(Options()).ok());
  EXPECT_FALSE(Gateway::Create(io_, Options()).ok());
}

TEST_F(GatewayTest, TheButtonIsHeardOnlyWithTheTerminalsOwnSignature) {
  StartTerminal();
  StartGateway();
  Post(kHang);
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });
  auto press = [&](std::string body, std::string secret) {
    HttpRequest request;
    request.method = "POST";
    request.path = "/api/v1/ack";
    request.body = std::move(body);
    AddSignatureV1(&request, {kKey, secret}, ToMillis(WallNow().since_epoch) / 1000);
    return Fetch(std::move(request)).status;
  };
  EXPECT_EQ(press(R"({"terminal":"hall-1"})", "wrong"), 401);
  EXPECT_EQ(press(R"({"terminal":"hall-2"})", kSecret), 403);
  EXPECT_EQ(press(R"({"terminal":7})", kSecret), 400);
  EXPECT_EQ(Incidents().at(0)["state"], "open");
  EXPECT_EQ(press(R"({"terminal":"hall-1","incidents":[]})", kSecret), 200);
  Json incident = Incidents().at(0);
  EXPECT_EQ(incident["state"], "acknowledged");
  EXPECT_EQ(incident["acknowledged"]["from"], "hall-1");
}

TEST_F(GatewayTest, ATerminalThatHasSignedItsAnswersIsNeverBelievedWithoutNotEvenAfterARestart) {
  StartTerminal();
  terminal_->signs = true;
  StartGateway();
  Post(kHang);
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });

  gateway_.reset();
  io_.restart();
  terminal_->signs = false;  // somebody else answers now
  StartGateway();
  size_t before = terminal_->requests.size();
  Post(R"({"cluster_rack":"A04","node_host":"gpu-worker-09","event_type":"XID_FATAL"})");
  RunUntil(io_, [&] { return terminal_->requests.size() >= before + 2; });
  EXPECT_TRUE(terminal_->requests.back().Header("X-Signature").empty());
  Json terminal = Json::parse(Get("/api/v1/terminals").body)["terminals"][0];
  EXPECT_FALSE(terminal["reachable"].get<bool>());
  EXPECT_THAT(terminal["error"].get<std::string>(), HasSubstr("not signed"));

  terminal_->signs = true;
  RunUntil(io_, [&] {
    Json incidents = Incidents();
    return std::all_of(incidents.begin(), incidents.end(), [](const Json& incident) {
      return incident["event_type"] != "XID_FATAL" ||
             incident["notifications"][0]["state"] == "delivered";
    });
  });
}

TEST_F(GatewayTest, WhereEventsMustBeSignedBothVersionsOpenAndATerminalsKeyDoesNot) {
  const KeyPair sender{"slurm-1", "fedcba9876543210fedcba9876543210"};
  std::ofstream(In("sender")) << "key = \"" << sender.key << "\"\nsecret = \"" << sender.secret
                              << "\"\n";
  chmod(In("sender").c_str(), 0600);
  ingest_.open_to = OpenTo::kNobody;
  ingest_.senders = {{"slurm", In("sender")}};
  StartTerminal();
  StartGateway();
  EXPECT_EQ(Post(kHang).status, 401);
  EXPECT_EQ(Post(kHang, /*unix_socket=*/true).status, 200);
  HttpRequest event;
  event.method = "POST";
  event.path = "/api/v1/gpu_event";
  event.body = kHang;
  HttpRequest old = event;
  AddSignatureV1(&old, sender, ToMillis(WallNow().since_epoch) / 1000);
  EXPECT_EQ(Fetch(old).status, 200);
  HttpRequest changed = old;
  changed.body.back() = ' ';
  EXPECT_EQ(Fetch(changed).status, 401);
  HttpRequest now = event;
  AddSignatureV2(&now, kGatewayAudience, {sender}, WallNow().since_epoch.count());
  HttpResponse answer = Fetch(now);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(IsAnswerOf(QuestionOf(now), kGatewayAudience, KeyRing(sender), WallNow(), answer));
  EXPECT_EQ(Fetch(now).status, 401);  // taken before
  EXPECT_EQ(Fetch(old).status, 401);  // and v1 is over for this key
  HttpRequest terminals = event;
  AddSignatureV2(&terminals, kGatewayAudience, {{kKey, kSecret}}, WallNow().since_epoch.count());
  EXPECT_EQ(Fetch(terminals).status, 403);
  // A sender is no terminal, either.
  HttpRequest press = event;
  press.path = "/api/v1/ack";
  press.body = R"({"terminal":"hall-1"})";
  AddSignatureV2(&press, kGatewayAudience, {sender}, WallNow().since_epoch.count());
  EXPECT_EQ(Fetch(press).status, 403);
}

TEST_F(GatewayTest, ItsTimeIsToldSigned) {
  StartTerminal();
  StartGateway();
  HttpRequest question;
  question.method = "GET";
  question.path = "/api/v1/time";
  question.headers["X-Nonce"] = MakeNonce();
  question.headers["X-Key-Ids"] = kKey;
  HttpResponse answer = Fetch(question);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(IsAnswerOf(QuestionOf(question), kGatewayAudience, KeyRing(KeyPair{kKey, kSecret}),
                         WallNow(), answer));
}

TEST_F(GatewayTest, APressMutesItsTerminalAndARestartDoesNotEndThat) {
  StartTerminal();
  StartGateway();
  Post(kHang);
  ASSERT_TRUE(RunUntil(io_, [&] { return !terminal_->messages.empty(); }));
  HttpRequest press;
  press.method = "POST";
  press.path = "/api/v1/ack";
  press.body = R"({"terminal":"hall-1","pressed_at":")" + FormatRfc3339(WallNow()) + "\"}";
  AddSignatureV2(&press, kGatewayAudience, {{kKey, kSecret}}, WallNow().since_epoch.count());
  const HttpResponse taken = Fetch(press);
  ASSERT_EQ(taken.status, 200);
  EXPECT_NEAR(Json::parse(taken.body)["muted_for_ms"].get<double>(), 15 * 60 * 1000, 5000);
  auto muted_until = [&] {
    return Json::parse(Get("/api/v1/terminals").body)["terminals"][0]["muted_until_at"];
  };
  const Json until = muted_until();
  ASSERT_TRUE(until.is_string());
  EXPECT_TRUE(RunUntil(io_, [&] { return terminal_->last_ping.find("muted_for_ms") == 2; }));

  gateway_.reset();
  io_.restart();
  terminal_->last_ping.clear();
  StartGateway();
  EXPECT_EQ(muted_until(), until);
  EXPECT_TRUE(RunUntil(io_, [&] { return terminal_->last_ping.find("muted_for_ms") == 2; }));
}

TEST_F(GatewayTest, APressThatIsOlderThanAMuteIsLongIsSaidToMuteNoMore) {
  StartTerminal();
  StartGateway();
  Post(kHang);
  ASSERT_TRUE(RunUntil(io_, [&] { return !terminal_->messages.empty(); }));
  HttpRequest press;
  press.method = "POST";
  press.path = "/api/v1/ack";
  const WallTime pressed{WallNow().since_epoch - std::chrono::hours(1)};
  press.body = R"({"terminal":"hall-1","pressed_at":")" + FormatRfc3339(pressed) + "\"}";
  AddSignatureV2(&press, kGatewayAudience, {{kKey, kSecret}}, WallNow().since_epoch.count());
  const HttpResponse taken = Fetch(press);
  ASSERT_EQ(taken.status, 200);
  EXPECT_EQ(Json::parse(taken.body), Json::parse(R"({"acknowledged":1,"muted_for_ms":0})"));
}

TEST_F(GatewayTest, WhoPressedTheButtonIsOnTheTrail) {
  StartTerminal();
  StartGateway();
  const std::string incident = Json::parse(Post(kHang).body)["incident"];
  ASSERT_TRUE(RunUntil(io_, [&] { return !terminal_->messages.empty(); }));
  HttpRequest press;
  press.method = "POST";
  press.path = "/api/v1/ack";
  press.body = R"({"terminal":"hall-1"})";
  AddSignatureV2(&press, kGatewayAudience, {{kKey, kSecret}}, WallNow().since_epoch.count());
  ASSERT_EQ(Fetch(press).status, 200);
  gateway_.reset();
  io_.restart();
  auto store = Store::Open(io_, {In("sentinel.db")});
  ASSERT_TRUE(store.ok());
  std::vector<AuditRecord> trail;
  (*store)->ReadAudit(10, [&](Result<std::vector<AuditRecord>> lines) {
    ASSERT_TRUE(lines.ok());
    trail = *lines;
  });
  ASSERT_TRUE(RunUntil(io_, [&] { return trail.size() == 2; }));
  EXPECT_EQ(trail[1].action, AuditAction::kAcknowledge);
  EXPECT_EQ(trail[1].subject, incident);
  EXPECT_EQ(trail[1].actor.by, "button");
  EXPECT_EQ(trail[1].actor.from, "hall-1");
  EXPECT_EQ(trail[0].action, AuditAction::kMute);
}

}  // namespace
}  // namespace sentinel
