#include "web/incident_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sentinel {
namespace {

using Json = nlohmann::json;

Incident Hang() {
  Incident i;
  i.id = "3f9c0a4b7d21e658";
  i.state = IncidentState::kOpen;
  i.severity = Severity::kP0;
  i.event_type = "NCCL_TIMEOUT";
  i.job = "train-1";
  i.culprit.host = "gpu-worker-08";
  i.culprit.rack = "A03";
  i.culprit.gpu = 3;
  i.text = "训练集群紧急预警";
  i.evidence = {{"证据", "rank 2 is stuck"}};
  i.count = 7;
  i.opened = Moment{Instant{}, WallTime{std::chrono::milliseconds(1'786'955'400'250)}};
  return i;
}

TEST(WebhookMessage, SaysWhatHappenedAndTheWholeIncident) {
  Incident incident = Hang();
  WallTime now{std::chrono::milliseconds(1'786'955'401'000)};
  Json json = Json::parse(WebhookMessage(incident, Telling::kFirst, now));
  EXPECT_EQ(json["type"], "incident.opened");
  EXPECT_EQ(json["timestamp"], "2026-08-17T08:30:01.000Z");
  EXPECT_EQ(json["data"]["id"], incident.id);
  EXPECT_EQ(json["data"]["culprit"]["gpu"], 3);
  EXPECT_EQ(json["data"]["text"], incident.text);
  EXPECT_EQ(Json::parse(WebhookMessage(incident, Telling::kAgain, now))["type"],
            "incident.updated");
  incident.state = IncidentState::kAcknowledged;
  EXPECT_EQ(Json::parse(WebhookMessage(incident, Telling::kAgain, now))["type"],
            "incident.acknowledged");
  incident.state = IncidentState::kClosed;
  EXPECT_EQ(Json::parse(WebhookMessage(incident, Telling::kFirst, now))["type"], "incident.closed");
}

TEST(IncidentNews, AreTheSameUntilSomethingIsNew) {
  Incident incident = Hang();
  std::string news = IncidentNews(incident);
  incident.count = 800;
  incident.last_seen = Moment{};
  EXPECT_EQ(IncidentNews(incident), news);
  incident.text = "another place";
  EXPECT_NE(IncidentNews(incident), news);
  incident = Hang();
  incident.severity = Severity::kP1;
  EXPECT_NE(IncidentNews(incident), news);
  incident = Hang();
  incident.state = IncidentState::kAcknowledged;
  EXPECT_NE(IncidentNews(incident), news);
}

TEST(Alert, HasLabelsThatRoutesAreWrittenFor) {
  Json labels = Json::parse(AlertLabels(Hang(), {{"site", "beijing"}, {"incident", "mine"}}));
  EXPECT_EQ(labels, Json({{"alertname", "NCCL_TIMEOUT"},
                          {"severity", "critical"},
                          {"level", "P0"},
                          {"incident", "3f9c0a4b7d21e658"},
                          {"instance", "gpu-worker-08"},
                          {"rack", "A03"},
                          {"gpu", "3"},
                          {"training_job", "train-1"},
                          {"site", "beijing"}}));
}

TEST(Alert, StartsWhenItOpenedAndNeverEndsBefore) {
  Incident incident = Hang();
  std::string labels = AlertLabels(incident, {});
  Json alert =
      Json::parse(Alert(incident, labels, WallTime{std::chrono::milliseconds(1'786'955'640'250)}));
  EXPECT_EQ(alert["startsAt"], "2026-08-17T08:30:00.250Z");
  EXPECT_EQ(alert["endsAt"], "2026-08-17T08:34:00.250Z");
  EXPECT_EQ(alert["annotations"]["summary"], incident.text);
  EXPECT_EQ(alert["annotations"]["description"], "rank 2 is stuck");
  alert = Json::parse(Alert(incident, labels, WallTime{}));
  EXPECT_EQ(alert["endsAt"], alert["startsAt"]);
}

}  // namespace
}  // namespace sentinel
