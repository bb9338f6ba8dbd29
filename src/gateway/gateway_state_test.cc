// What a gateway keeps in its folder, and finds there again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <string>

#include "base/clock.h"
#include "gateway/gateway_testing.h"
#include "store/store.h"
#include "web/silence_json.h"

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST_F(GatewayTest, AStateFolderHasOneGateway) {
  StartGateway();
  auto second = Gateway::Create(io_, Options());
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("pid " + std::to_string(getpid())));
  EXPECT_THAT(second.error().message, HasSubstr("a state_dir of its own"));
  EXPECT_EQ(Post(kHang).status, 200);
  gateway_.reset();
  StartGateway();
}

TEST_F(GatewayTest, AStateFolderThatIsNoneIsCalledWhatItIs) {
  auto told = [&](const std::string& folder) {
    GatewayOptions options = Options();
    options.config.state_dir = folder;
    auto gateway = Gateway::Create(io_, std::move(options));
    return gateway.ok() ? "" : gateway.error().message;
  };
  std::ofstream(In("a-file")) << "x";
  EXPECT_THAT(told(In("a-file")), HasSubstr("(state_dir) is not a folder"));
  EXPECT_THAT(told(In("a-file") + "/below"), HasSubstr("(state_dir) does not exist; create it"));
  EXPECT_THAT(told("/proc"), HasSubstr("a folder in which no file can be made"));
}

TEST_F(GatewayTest, ACorruptStoreIsToldOfAndTheGatewayIsReady) {
  std::ofstream(In("sentinel.db")) << std::string(8192, 'x');
  StartGateway();
  HttpResponse ready = Get("/readyz");
  EXPECT_EQ(ready.status, 200);
  EXPECT_THAT(ready.body, HasSubstr("sentinel.db.corrupt-"));
  EXPECT_THAT(Get("/metrics").body, HasSubstr("\nsentinel_store_corrupt_total 1\n"));
  EXPECT_EQ(Post(kHang).status, 200);
  gateway_.reset();
  StartGateway();
  EXPECT_EQ(Get("/readyz").body, "ready\n");
  EXPECT_THAT(Get("/metrics").body, HasSubstr("\nsentinel_store_corrupt_total 0\n"));
}

TEST_F(GatewayTest, ARestartLosesNothingAndRepeatsNothing) {
  StartTerminal();
  StartGateway();
  std::string told = Json::parse(Post(kHang).body)["incident"];
  RunUntil(io_, [&] { return !terminal_->messages.empty(); });
  RunUntil(io_, [&] { return Incidents().at(0)["notifications"][0]["state"] == "delivered"; });
  terminal_->status = 503;
  std::string waiting = Json::parse(
      Post(R"({"node_host":"n1","event_type":"GPU_LOST","gpu_index":1})").body)["incident"];
  RunUntil(io_, [&] { return terminal_->requests.size() >= 2; });
  std::string message_id(terminal_->requests.back().Header("X-Message-Id"));
  gateway_.reset();
  terminal_->status = 200;
  terminal_->requests.clear();
  terminal_->messages.clear();

  StartGateway();
  RunUntil(io_, [&] { return !terminal_->messages.empty(); });
  EXPECT_EQ(terminal_->requests.at(0).Header("X-Message-Id"), message_id);
  EXPECT_EQ(terminal_->requests.at(0).Header("X-Incident-Id"), waiting);
  // The window of what had been told goes on.
  Json again = Json::parse(Post(kHang).body);
  EXPECT_EQ(again["status"], "suppressed");
  EXPECT_EQ(again["incident"], told);
  EXPECT_THAT(terminal_->requests, SizeIs(1));
}

TEST_F(GatewayTest, AnIncidentThatIsOnlyItsEventSurvivesARestart) {
  StartGateway();
  std::set<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    std::string host = "n" + std::to_string(i);
    ids.insert(Json::parse(
        Post(R"({"node_host":")" + host + R"(","event_type":"NCCL_TIMEOUT"})").body)["incident"]);
  }
  for (int restart = 0; restart < 3; ++restart) {
    gateway_.reset();
    StartGateway();
    Json incidents = Incidents();
    EXPECT_THAT(incidents, SizeIs(20));
    for (const Json& incident : incidents) {
      EXPECT_TRUE(ids.contains(incident["id"]));
      EXPECT_EQ(incident["state"], "open");
    }
  }
  // Written down in its turn, or begun again: closed once, it stays closed.
  Post(R"({"node_host":"n3","event_type":"RECOVERED"})");
  gateway_.reset();
  StartGateway();
  EXPECT_THAT(Json::parse(Get("/api/v1/incidents", "state=open").body)["incidents"], SizeIs(19));
}

TEST_F(GatewayTest, ASilenceOutlivesTheGatewayAndWhatItCoversIsKept) {
  StartTerminal();
  auto store = Store::Open(io_, {In("sentinel.db")});
  ASSERT_TRUE(store.ok());
  Silence silence;
  silence.id = "0123456789abcdef";
  silence.matcher.rack = "A03";
  silence.created = silence.starts = WallNow();
  silence.expires = silence.starts + std::chrono::hours(1);
  silence.author = "li";
  (*store)->PutNote({"silence/" + silence.id, SilenceJson(silence, SilencePhase::kActive)}, {});
  (*store)->PutNote({"silence/broken", "{}"}, {});
  store->reset();
  for (bool again : {false, true}) {
    StartGateway();
    const Json answer = Json::parse(Post(kHang).body);
    EXPECT_EQ(answer["status"], again ? "suppressed" : "accepted");
    const Json incidents = Incidents();
    ASSERT_THAT(incidents, SizeIs(1));
    EXPECT_EQ(incidents[0]["severity"], "P0");
    EXPECT_EQ(incidents[0]["quiet"]["by"], silence.id);
    EXPECT_THAT(incidents[0]["notifications"], SizeIs(0));
    gateway_.reset();
    io_.restart();
  }
  EXPECT_THAT(terminal_->messages, SizeIs(0));
}

// While it lives no file of this process can grow: what a full disk looks like.
class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(GatewayTest, AFullDiskAnswers503AndTheLampIsLitAllTheSame) {
  StartTerminal();
  StartGateway();
  HttpResponse answer;
  {
    FullDisk full;
    answer = Post(kHang);
    RunUntil(io_, [&] { return !terminal_->messages.empty(); });
  }
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.headers.at("Retry-After"), "1");
  // Once there is room again the incident is written after all, and the sender is heard.
  RunUntil(io_, [&] { return Post(kHang).status == 200; });
  gateway_.reset();
  StartGateway();
  EXPECT_EQ(Incidents().at(0)["event_type"], "NCCL_TIMEOUT");
  EXPECT_THAT(terminal_->messages, SizeIs(1));
}

}  // namespace
}  // namespace sentinel
