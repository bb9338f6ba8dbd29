#include "wire/cloud_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/base64.h"

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

using Headers = std::map<std::string, std::string, std::less<>>;

Result<ReceivedCloudEvents> Received(const std::string& body, const Headers& headers) {
  return ParseCloudEvents(body, [&](std::string_view name) -> std::string_view {
    auto found = headers.find(name);
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
  });
}
Result<std::vector<Event>> Parse(const std::string& body, const Headers& headers) {
  auto received = Received(body, headers);
  if (!received.ok()) return received.error();
  return std::move(received->events);
}
std::string ErrorOf(const std::string& body, const Headers& headers) {
  auto events = Parse(body, headers);
  return events.ok() ? "" : events.error().message;
}

const Headers kStructured = {{"Content-Type", "application/cloudevents+json; charset=utf-8"}};
const Headers kBatch = {{"Content-Type", "application/cloudevents-batch+json"}};
Headers Binary() {
  return {{"Content-Type", "application/json"},
          {"ce-specversion", "1.0"},
          {"ce-id", "7"},
          {"ce-source", "/monitor"},
          {"ce-type", "gpu.fault"}};
}
constexpr const char* kData = R"({"node_host":"n1","event_type":"GPU_LOST"})";
std::string Enveloped(const std::string& more) {
  return R"({"specversion":"1.0","id":"7","source":"/monitor","type":"gpu.fault")" + more + "}";
}

TEST(CloudEvents, AStructuredOneIsAnEventUnderItsSourceAndId) {
  auto events =
      Parse(Enveloped(R"(,"time":"2026-08-17T08:30:00Z","site":"x","data":)" + std::string(kData)),
            kStructured);
  ASSERT_TRUE(events.ok()) << events.error().message;
  ASSERT_THAT(*events, SizeIs(1));
  EXPECT_EQ(events->at(0).node_host, "n1");
  EXPECT_EQ(events->at(0).event_id, "/monitor#7");
  EXPECT_EQ(events->at(0).observed_at, "2026-08-17T08:30:00Z");
}

TEST(CloudEvents, ABinaryOneIsTheSame) {
  auto events = Parse(kData, Binary());
  ASSERT_TRUE(events.ok()) << events.error().message;
  EXPECT_EQ(events->at(0).event_id, "/monitor#7");
}

TEST(CloudEvents, TheDatasOwnIdAndTimeCount) {
  auto events =
      Parse(R"({"node_host":"n1","event_type":"GPU_LOST","event_id":"mine","observed_at":"then"})",
            Binary());
  EXPECT_EQ(events->at(0).event_id, "mine");
  EXPECT_EQ(events->at(0).observed_at, "then");
}

TEST(CloudEvents, DataMayComeAsBase64) {
  auto events = Parse(Enveloped(R"(,"data_base64":")" + Base64Encode(kData) + "\""), kStructured);
  ASSERT_TRUE(events.ok()) << events.error().message;
  EXPECT_EQ(events->at(0).event_type, "GPU_LOST");
}

TEST(CloudEvents, WhatIsNullIsAbsent) {
  auto events =
      Parse(Enveloped(R"(,"time":null,"datacontenttype":null,"data_base64":null,"data":)" +
                      std::string(kData)),
            kStructured);
  ASSERT_TRUE(events.ok()) << events.error().message;
  EXPECT_THAT(*events, SizeIs(1));
  EXPECT_THAT(ErrorOf(Enveloped(R"(,"data":null)"), kStructured), HasSubstr("data is missing"));
}

TEST(CloudEvents, OneOfABatchThatIsMalformedCostsNoOtherItsPlace) {
  std::string good = Enveloped(R"(,"data":)" + std::string(kData));
  auto events = Parse("[" + good + "," + good + "]", kBatch);
  ASSERT_TRUE(events.ok()) << events.error().message;
  EXPECT_THAT(*events, SizeIs(2));
  EXPECT_THAT(Parse("[]", kBatch).value(), SizeIs(0));
  auto received = Received("[" + good + "," + Enveloped("") + ",7," + good + "]", kBatch);
  ASSERT_TRUE(received.ok()) << received.error().message;
  EXPECT_THAT(received->events, SizeIs(2));
  EXPECT_THAT(received->places, testing::ElementsAre(0, 3));
  EXPECT_EQ(received->malformed.count, 2u);
  ASSERT_THAT(received->malformed.told, SizeIs(2));
  EXPECT_EQ(received->malformed.told[0].index, 1u);
  EXPECT_EQ(received->malformed.told[0].name, "7");
  EXPECT_THAT(received->malformed.told[0].why, HasSubstr("event 1 of the batch: data is missing"));
}

TEST(CloudEvents, WhatIsNoBatchIsRefused) {
  for (const char* wrong : {"{}", "[],\"batch\":[]", "[]}", "[],\"x\":1", ""}) {
    EXPECT_NE(ErrorOf(wrong, kBatch), "") << wrong;
  }
  std::string many;
  for (size_t i = 0; i <= kCloudEventsMax; ++i) many += (i == 0 ? "" : ",") + std::string("{}");
  EXPECT_THAT(ErrorOf("[" + many + "]", kBatch), HasSubstr("more than 256"));
}

TEST(CloudEvents, WhatIsNoneSaysWhatIsExpected) {
  EXPECT_THAT(ErrorOf(kData, {}), HasSubstr("belongs to /api/v1/gpu_event"));
  EXPECT_THAT(ErrorOf("x", {{"Content-Type", "application/cloudevents+avro"}}),
              HasSubstr("application/cloudevents+json"));
  Headers headers = Binary();
  headers["ce-specversion"] = "0.3";
  EXPECT_THAT(ErrorOf(kData, headers), HasSubstr("specversion must be \"1.0\""));
  for (const char* missing : {"ce-id", "ce-source", "ce-type"}) {
    headers = Binary();
    headers.erase(missing);
    EXPECT_THAT(ErrorOf(kData, headers), HasSubstr("is missing")) << missing;
  }
  headers = Binary();
  headers["ce-time"] = "noon";
  EXPECT_THAT(ErrorOf(kData, headers), HasSubstr("time must be"));
  headers = Binary();
  headers["Content-Type"] = "text/plain";
  EXPECT_THAT(ErrorOf(kData, headers), HasSubstr("datacontenttype"));
  EXPECT_THAT(ErrorOf("{}", Binary()), HasSubstr("data is no gpu_event: node_host"));
  EXPECT_THAT(ErrorOf(Enveloped(R"(,"data":"text")"), kStructured), HasSubstr("data must be"));
  EXPECT_THAT(ErrorOf(Enveloped(R"(,"data_base64":"!")"), kStructured), HasSubstr("base64"));
  EXPECT_THAT(ErrorOf(Enveloped(R"(,"id":"8")"), kStructured), HasSubstr("twice"));
}

}  // namespace
}  // namespace sentinel
