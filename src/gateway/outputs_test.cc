#include "gateway/outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "http/server.h"
#include "http/test_peer.h"
#include "signal/webhook_signature.h"
#include "web/incident_json.h"

namespace sentinel {
namespace {

using testing::SizeIs;
using Json = nlohmann::json;

// A receiver on loopback that answers with `status`, or not at all.
class Receiver {
 public:
  explicit Receiver(boost::asio::io_context& io) {
    auto listening =
        HttpServer::Listen(io, Endpoint{"127.0.0.1", 0, false}, {},
                           [this](HttpRequest request, std::unique_ptr<HttpResponder> responder) {
                             requests.push_back(std::move(request));
                             if (status == 0) {
                               held_.push_back(std::move(responder));
                               return;
                             }
                             HttpResponse response = TextResponse(status, "");
                             if (!retry_after.empty())
                               response.headers["Retry-After"] = retry_after;
                             responder->Send(std::move(response));
                           });
    EXPECT_TRUE(listening.ok());
    server_ = std::move(*listening);
  }
  HttpUrl url() const {
    return *ParseHttpUrl("http://127.0.0.1:" + std::to_string(server_->port()) + "/in");
  }
  std::set<std::string> Ids() const {
    std::set<std::string> ids;
    for (const HttpRequest& request : requests) ids.emplace(request.Header("webhook-id"));
    return ids;
  }
  Json Body(size_t index) const { return Json::parse(requests.at(index).body); }

  int status = 200;
  std::string retry_after;
  std::vector<HttpRequest> requests;

 private:
  std::unique_ptr<HttpServer> server_;
  std::vector<std::unique_ptr<HttpResponder>> held_;
};

class OutputsTest : public testing::Test {
 protected:
  OutputsTest() : receiver_(io_), book_(std::in_place, IncidentPolicy{}, Site({"hall-1"}, {}, {})) {
    settings_.name = "chat";
    settings_.post.url = receiver_.url();
    settings_.post.secrets = {std::string(32, 's')};
    retry_.pauses = {std::chrono::milliseconds(5)};
    retry_.jitter = 0;
  }

  void Start() {
    outputs_.reset();
    outputs_ = std::make_unique<Outputs>(io_, std::vector<OutputSettings>{settings_}, retry_,
                                         *book_, metrics_, [] {});
    outputs_->CatchUp();
  }
  std::string Happens(const std::string& type, const std::string& host,
                      EventState state = EventState::kFiring) {
    Event event;
    event.event_type = type;
    event.node_host = host;
    event.state = state;
    std::string id = book_->OnEvent(event, JobPresence::kUnknown, MomentNow()).incident;
    Turn();
    return id;
  }
  void Turn() {
    for (const auto& change : book_->TakeActions().changes) outputs_->OnChange(change.incident);
  }
  // Until as many requests have come, and then for a moment more.
  void Await(size_t requests) {
    RunUntil(io_, [&] { return receiver_.requests.size() >= requests; });
    Settle();
    EXPECT_THAT(receiver_.requests, SizeIs(requests));
  }
  void Settle() {
    io_.restart();
    io_.run_for(std::chrono::milliseconds(30));
  }

  boost::asio::io_context io_;
  Receiver receiver_;
  std::optional<IncidentBook> book_;
  GatewayMetrics metrics_;
  OutputSettings settings_;
  RetryPolicy retry_;
  std::unique_ptr<Outputs> outputs_;
};

TEST_F(OutputsTest, AWebhookIsToldOfTheBeginningAndTheEnd) {
  Start();
  std::string id = Happens("XID_FATAL", "n1");
  Await(1);
  Happens("XID_FATAL", "n1");  // one more is no news
  Settle();
  Happens("XID_FATAL", "n1", EventState::kResolved);
  Await(2);
  EXPECT_EQ(receiver_.Body(0)["type"], "incident.opened");
  EXPECT_EQ(receiver_.Body(0)["data"]["id"], id);
  EXPECT_EQ(receiver_.Body(1)["type"], "incident.closed");
  EXPECT_EQ(receiver_.Body(1)["data"]["close_reason"], "resolved");
  EXPECT_THAT(receiver_.Ids(), SizeIs(2));
  const HttpRequest& first = receiver_.requests[0];
  EXPECT_EQ(first.Header("webhook-signature"),
            WebhookSignature(settings_.post.secrets, first.Header("webhook-id"),
                             first.Header("webhook-timestamp"), first.body));
}

TEST_F(OutputsTest, AMessageIsTriedUntilItIsTakenUnderOneIdWithOneBody) {
  Start();
  receiver_.status = 500;
  Happens("XID_FATAL", "n1");
  RunUntil(io_, [&] { return receiver_.requests.size() >= 4; });
  receiver_.status = 302;
  size_t before = receiver_.requests.size();
  RunUntil(io_, [&] { return receiver_.requests.size() >= before + 2; });
  receiver_.status = 202;
  before = receiver_.requests.size();
  Await(before + 1);
  EXPECT_THAT(receiver_.Ids(), SizeIs(1));
  for (const HttpRequest& request : receiver_.requests) {
    EXPECT_EQ(request.body, receiver_.requests[0].body);
  }
}

TEST_F(OutputsTest, AReceiverThatWasAwayIsToldWhatIsTrueByThen) {
  settings_.post.attempt_timeout = std::chrono::milliseconds(50);
  Start();
  receiver_.status = 503;
  Happens("XID_FATAL", "n1");
  Happens("NVLINK_ERROR", "n2");
  RunUntil(io_, [&] { return receiver_.requests.size() >= 2; });
  Happens("XID_FATAL", "n1", EventState::kResolved);
  Happens("GPU_LOST", "n3");
  Settle();
  receiver_.status = 200;
  receiver_.requests.clear();
  RunUntil(io_, [&] { return receiver_.requests.size() >= 3; });
  Settle();
  // The most urgent first; of n1 nothing but its end.
  ASSERT_GE(receiver_.requests.size(), 3u);
  std::string last = receiver_.Body(receiver_.requests.size() - 1)["data"]["culprit"]["host"];
  EXPECT_EQ(last, "n2");
  for (size_t i = 0; i < receiver_.requests.size(); ++i) {
    Json body = receiver_.Body(i);
    if (body["data"]["culprit"]["host"] == "n1") {
      EXPECT_EQ(body["type"], "incident.closed");
    }
  }
}

TEST_F(OutputsTest, AReceiverThatAsksForPatienceGetsIt) {
  Start();
  receiver_.status = 429;
  receiver_.retry_after = "1";
  Happens("NVLINK_ERROR", "n1");
  RunUntil(io_, [&] { return !receiver_.requests.empty(); });
  io_.restart();
  io_.run_for(std::chrono::milliseconds(300));
  EXPECT_THAT(receiver_.requests, SizeIs(1));
}

TEST_F(OutputsTest, AReceiverThatIsGoneIsLeftAloneUntilItsConfigurationIsReadAgain) {
  Start();
  receiver_.status = 410;
  Happens("XID_FATAL", "n1");
  Await(1);
  Happens("XID_FATAL", "n2");
  Settle();
  EXPECT_THAT(receiver_.requests, SizeIs(1));
  receiver_.status = 200;
  outputs_->Reconfigure({settings_});
  Await(3);
}

TEST_F(OutputsTest, AMessageThatItWillNeverTakeDoesNotHoldUpTheOthers) {
  Start();
  receiver_.status = 400;
  Happens("XID_FATAL", "n1");
  Await(1);
  receiver_.status = 200;
  Happens("XID_FATAL", "n2");
  Await(2);
}

TEST_F(OutputsTest, WhatIsBelowItsLevelIsNotToldUnlessItRises) {
  settings_.level = Severity::kP0;
  Start();
  Happens("NVLINK_ERROR", "n1");
  Settle();
  EXPECT_THAT(receiver_.requests, SizeIs(0));
  Happens("GPU_LOST", "n1");
  Await(1);
}

TEST_F(OutputsTest, WhatIsSilencedIsNotToldUnlessItWas) {
  Start();
  Happens("XID_FATAL", "n1");
  Await(1);
  Silence silence;
  silence.matcher.host = "n*";
  silence.author = "li";
  silence.comment = "bench";
  silence.expires = WallNow() + std::chrono::hours(1);
  auto added = book_->AddSilence({"li", "test"}, silence, MomentNow());
  ASSERT_TRUE(added.ok()) << added.error().message;
  Turn();
  Happens("XID_FATAL", "n2");
  Settle();
  for (const HttpRequest& request : receiver_.requests) {
    EXPECT_EQ(Json::parse(request.body)["data"]["culprit"]["host"], "n1");
  }
}

// What another process would make of what this one has kept.
TEST_F(OutputsTest, ARestartNeitherForgetsNorRepeats) {
  Start();
  Happens("XID_FATAL", "n1");
  Await(1);
  receiver_.status = 503;
  std::string waiting = Happens("GPU_LOST", "n2");
  RunUntil(io_, [&] { return receiver_.requests.size() >= 2; });
  std::string message(receiver_.requests.back().Header("webhook-id"));
  outputs_.reset();
  std::vector<Incident> kept;
  for (const Incident* incident : book_->List(true, 10)) {
    kept.push_back(*ParseIncidentDocument(WriteIncidentDocument(*incident)));
  }
  book_.emplace(IncidentPolicy{}, Site({"hall-1"}, {}, {}));
  book_->Restore(std::move(kept), "", MomentNow());
  receiver_.status = 200;
  receiver_.requests.clear();
  Start();
  Await(1);
  EXPECT_EQ(receiver_.requests[0].Header("webhook-id"), message);
  EXPECT_EQ(receiver_.Body(0)["data"]["id"], waiting);
}

TEST_F(OutputsTest, ANewConfigurationEndsNoAttempt) {
  Start();
  receiver_.status = 0;
  Happens("XID_FATAL", "n1");
  RunUntil(io_, [&] { return !receiver_.requests.empty(); });
  outputs_->Reconfigure({settings_});
  OutputSettings slower = settings_;
  slower.post.attempt_timeout = std::chrono::seconds(30);
  outputs_->Reconfigure({slower});
  Settle();
  EXPECT_THAT(receiver_.requests, SizeIs(1));
}

class AlertmanagerTest : public OutputsTest {
 protected:
  AlertmanagerTest() {
    settings_.kind = OutputKind::kAlertmanager;
    settings_.post.secrets.clear();
    settings_.labels = {{"site", "beijing"}};
  }
  static WallTime At(const Json& alert, const char* key) {
    return ParseRfc3339(alert.at(key).get<std::string>()).value();
  }
};

TEST_F(AlertmanagerTest, AnAlertFiresWithAnEndAheadAndEndsWhenItIsOver) {
  Start();
  Happens("XID_FATAL", "n1");
  Await(1);
  Json alert = receiver_.Body(0).at(0);
  EXPECT_EQ(alert["labels"]["alertname"], "XID_FATAL");
  EXPECT_EQ(alert["labels"]["severity"], "critical");
  EXPECT_EQ(alert["labels"]["site"], "beijing");
  EXPECT_NEAR(static_cast<double>(
                  (At(alert, "endsAt").since_epoch - At(alert, "startsAt").since_epoch).count()),
              240'000.0, 5'000.0);
  Happens("XID_FATAL", "n1", EventState::kResolved);
  Await(2);
  EXPECT_EQ(receiver_.Body(1).at(0)["labels"], alert["labels"]);
  EXPECT_LE(At(receiver_.Body(1).at(0), "endsAt").since_epoch, WallNow().since_epoch);
}

TEST_F(AlertmanagerTest, AnAlertIsRenewedWhileItFires) {
  settings_.renew_every = std::chrono::milliseconds(100);
  Start();
  Happens("NVLINK_ERROR", "n1");
  Happens("XID_FATAL", "n2");
  RunUntil(io_, [&] { return receiver_.requests.size() >= 4; });
  Json renewal = receiver_.Body(3);
  ASSERT_EQ(renewal.size(), 2u);
  EXPECT_EQ(renewal[0]["labels"]["alertname"], "XID_FATAL");  // the most urgent first
  EXPECT_GT(At(renewal[0], "endsAt").since_epoch, WallNow().since_epoch);
  Happens("XID_FATAL", "n2", EventState::kResolved);
  Settle();
  receiver_.requests.clear();
  RunUntil(io_, [&] { return !receiver_.requests.empty(); });
  EXPECT_EQ(receiver_.Body(0).size(), 1u);
}

TEST_F(AlertmanagerTest, WhereALabelChangesTheOldAlertEnds) {
  Start();
  Event event;
  event.event_type = "FAN_SLOW";
  event.node_host = "n1";
  book_->OnEvent(event, JobPresence::kUnknown, MomentNow());
  Turn();
  Await(1);
  event.gpu_util = 1;  // now it is a P0
  book_->OnEvent(event, JobPresence::kUnknown, MomentNow());
  Turn();
  Await(2);
  Json alerts = receiver_.Body(1);
  ASSERT_EQ(alerts.size(), 2u);
  EXPECT_EQ(alerts[0]["labels"]["level"], "P1");
  EXPECT_LE(At(alerts[0], "endsAt").since_epoch, WallNow().since_epoch);
  EXPECT_EQ(alerts[1]["labels"]["level"], "P0");
}

}  // namespace
}  // namespace sentinel
