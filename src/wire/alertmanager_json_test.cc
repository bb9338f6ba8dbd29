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
  auto received = ParseAlerts(body);
  return received.ok() ? "" : received.error().message;
}
std::string With(const std::string& alert) { return R"({"version":"4","alerts":[)" + alert + "]}"; }
std::string Good(const std::string& status, size_t number) {
  return R"({"status":")" + status + R"(","labels":{"alertname":"X"},"fingerprint":")" +
         std::to_string(number) + R"(","startsAt":"2026-08-17T08:30:00Z"})";
}
// Of a body in which this alert stands alone.
std::string WhyMalformed(const std::string& alert) {
  auto received = ParseAlerts(With(alert));
  return received.ok() && received->malformed.count == 1 ? received->malformed.told[0].why : "";
}

TEST(ParseAlerts, ReadsWhatAnAlertmanagerPosts) {
  auto received = ParseAlerts(kBody);
  ASSERT_TRUE(received.ok()) << received.error().message;
  ASSERT_THAT(received->alerts, SizeIs(2));
  EXPECT_EQ(received->malformed.count, 0u);
  const ReceivedAlert& xid = received->alerts[0];
  EXPECT_TRUE(xid.firing);
  EXPECT_EQ(xid.labels.at("Hostname"), "gpu-07");
  EXPECT_EQ(xid.annotations.at("summary"), "Xid 79");
  EXPECT_EQ(FormatRfc3339(xid.starts_at), "2026-08-17T08:30:00.250Z");
  EXPECT_EQ(xid.fingerprint, "c5ba54a4e8e2c1f0");
  const ReceivedAlert& down = received->alerts[1];
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
  EXPECT_THAT(ErrorOf(With(R"({"status":"firing","status":"resolved"})")), HasSubstr("twice"));
  std::string many;
  for (size_t i = 0; i <= kAlertEntriesMax; ++i) many += (i == 0 ? "" : ",") + std::string("{}");
  EXPECT_THAT(ErrorOf(With(many)), HasSubstr("more than 8192"));
  EXPECT_THAT(ErrorOf(With(std::string(kAlertsBytesMax, ' '))), HasSubstr("longer than"));
}

TEST(ParseAlerts, AnAlertThatIsNoneIsToldWithThePlace) {
  EXPECT_THAT(WhyMalformed("3"), HasSubstr("alerts[0] must be an object"));
  EXPECT_THAT(WhyMalformed("{}"), HasSubstr("alerts[0].status"));
  EXPECT_THAT(WhyMalformed(R"({"status":"firing"})"), HasSubstr("alerts[0].labels"));
  EXPECT_THAT(WhyMalformed(R"({"status":"firing","labels":{"a":1}})"),
              HasSubstr("alerts[0].labels must be an object of strings"));
  EXPECT_THAT(WhyMalformed(R"({"status":"firing","labels":{"a":"b"},"startsAt":"now"})"),
              HasSubstr("alerts[0].startsAt"));
}

TEST(ParseAlerts, OneThatIsMalformedCostsNoOtherItsPlace) {
  auto received = ParseAlerts(With(Good("firing", 0) + R"(,{"status":"on","fingerprint":"bad"},)" +
                                   Good("resolved", 2) + ",null"));
  ASSERT_TRUE(received.ok()) << received.error().message;
  ASSERT_THAT(received->alerts, SizeIs(2));
  EXPECT_EQ(received->alerts[0].index, 0u);
  EXPECT_EQ(received->alerts[1].index, 2u);
  EXPECT_EQ(received->malformed.count, 2u);
  ASSERT_THAT(received->malformed.told, SizeIs(2));
  EXPECT_EQ(received->malformed.told[0].index, 1u);
  EXPECT_EQ(received->malformed.told[0].name, "bad");
  EXPECT_EQ(received->malformed.told[1].index, 3u);
}

TEST(ParseAlerts, OfMalformedOnesTheFirstAreToldAndAllAreCounted) {
  std::string many;
  for (size_t i = 0; i < kMalformedToldMax + 5; ++i) many += "{},";
  auto received = ParseAlerts(With(many + Good("firing", 0)));
  ASSERT_TRUE(received.ok()) << received.error().message;
  EXPECT_THAT(received->alerts, SizeIs(1));
  EXPECT_EQ(received->malformed.count, kMalformedToldMax + 5);
  EXPECT_THAT(received->malformed.told, SizeIs(kMalformedToldMax));
}

TEST(ParseAlerts, ALongNameOfAMalformedOneIsCutBetweenCharacters) {
  const std::string letters(kMalformedNameBytesMax - 1, 'x');
  auto received = ParseAlerts(With(R"({"fingerprint":")" + letters + "架构\"}"));
  ASSERT_TRUE(received.ok()) << received.error().message;
  ASSERT_THAT(received->malformed.told, SizeIs(1));
  EXPECT_EQ(received->malformed.told[0].name, letters);
}

TEST(ParseAlerts, BeyondTheBoundWhatFiresComesFirst) {
  std::string many;
  for (size_t i = 0; i < kAlertsMax; ++i) many += Good("resolved", i) + ",";
  auto received = ParseAlerts(With(many + Good("firing", kAlertsMax)));
  ASSERT_TRUE(received.ok()) << received.error().message;
  ASSERT_THAT(received->alerts, SizeIs(kAlertsMax));
  EXPECT_TRUE(received->alerts[0].firing);
  EXPECT_EQ(received->alerts[0].index, kAlertsMax);
  EXPECT_EQ(received->over, 1u);
}

}  // namespace
}  // namespace sentinel
