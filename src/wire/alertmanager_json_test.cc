#include "wire/alertmanager_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// As an Alertmanager writes it.
constexpr const char* kBody = R"({"receiver":"sentinel","status":"firing","alerts":[
{"status":"firing","labels":{"alertname":"GpuXid","Hostname":"gpu-07","gpu":"3"},
 "annotations":{"summary":"Xid 79"},"startsAt":"2026-08-17T08:30:00.250Z",
 "endsAt":"0001-01-01T00:00:00Z","generatorURL":"http://p/g","fingerprint":"c5ba54a4e8e2c1f0"},
{"status":"resolved","labels":{"alertname":"HostDown","instance":"gpu-08:9100"},"annotations":{},
 "startsAt":"2026-08-17T16:30:00+08:00","endsAt":"2026-08-17T08:40:00Z","fingerprint":""}],
"groupLabels":{"alertname":"GpuXid"},"commonLabels":{},"commonAnnotations":{},
"externalURL":"http://am:9093","version":"4","groupKey":"{}:{}","truncatedAlerts":0})";

std::string ErrorOf(const std::string& body) {
  auto alerts = ParseAlerts(body);
  return alerts.ok() ? "" : alerts.error().message;
}
std::string With(const std::string& alert) { return R"({"version":"4","alerts":[)" + alert + "]}"; }

TEST(ParseAlerts, ReadsWhatAnAlertmanagerPosts) {
  auto alerts = ParseAlerts(kBody);
  ASSERT_TRUE(alerts.ok()) << alerts.error().message;
  ASSERT_THAT(*alerts, SizeIs(2));
  const ReceivedAlert& xid = alerts->at(0);
  EXPECT_TRUE(xid.firing);
  EXPECT_EQ(xid.labels.at("Hostname"), "gpu-07");
  EXPECT_EQ(xid.annotations.at("summary"), "Xid 79");
  EXPECT_EQ(FormatRfc3339(xid.starts_at), "2026-08-17T08:30:00.250Z");
  EXPECT_EQ(xid.fingerprint, "c5ba54a4e8e2c1f0");
  const ReceivedAlert& down = alerts->at(1);
  EXPECT_FALSE(down.firing);
  EXPECT_EQ(FormatRfc3339(down.starts_at), "2026-08-17T08:30:00.000Z");
  EXPECT_THAT(down.fingerprint, SizeIs(16));
}

TEST(ParseAlerts, WhatIsNotSuchABodyIsRefusedWithThePlace) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("not JSON"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("version must be \"4\""));
  EXPECT_THAT(ErrorOf(R"({"version":4})"), HasSubstr("version must be the string"));
  EXPECT_THAT(ErrorOf(R"({"version":"4"})"), HasSubstr("alerts is missing"));
  EXPECT_THAT(ErrorOf(R"({"version":"4","alerts":{}})"), HasSubstr("alerts must be an array"));
  EXPECT_THAT(ErrorOf(R"({"version":"4","alerts":[]})"), HasSubstr("alerts is empty"));
  EXPECT_THAT(ErrorOf(With("3")), HasSubstr("alerts[0] must be an object"));
  EXPECT_THAT(ErrorOf(With("{}")), HasSubstr("alerts[0].status"));
  EXPECT_THAT(ErrorOf(With(R"({"status":"firing"})")), HasSubstr("alerts[0].labels"));
  EXPECT_THAT(ErrorOf(With(R"({"status":"firing","labels":{"a":1}})")),
              HasSubstr("alerts[0].labels must be an object of strings"));
  EXPECT_THAT(ErrorOf(With(R"({"status":"firing","labels":{"a":"b"},"startsAt":"now"})")),
              HasSubstr("alerts[0].startsAt"));
  EXPECT_THAT(ErrorOf(With(R"({"status":"firing","status":"resolved"})")), HasSubstr("twice"));
  std::string many;
  for (size_t i = 0; i <= kAlertsMax; ++i) many += (i == 0 ? "" : ",") + std::string("{}");
  EXPECT_THAT(ErrorOf(With(many)), HasSubstr("set max_alerts"));
}

}  // namespace
}  // namespace sentinel
