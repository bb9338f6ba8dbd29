#include "wire/event_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sentinel {
namespace {

constexpr char kReference[] =
    R"({"cluster_rack":"A03","node_host":"gpu-worker-08-5f7c9d8b4a","event_type":"NCCL_TIMEOUT","gpu_index":0,"gpu_util":1.5})";

Event Parsed(std::string_view body) {
  Result<Event> event = ParseEvent(body);
  EXPECT_TRUE(event.ok()) << body << ": " << (event.ok() ? "" : event.error().message);
  return event.ok() ? *event : Event{};
}

std::string Refusal(std::string_view body) {
  Result<Event> event = ParseEvent(body);
  EXPECT_FALSE(event.ok()) << body;
  if (event.ok()) return "";
  EXPECT_EQ(event.error().code, ErrorCode::kInvalidArgument);
  return event.error().message;
}

TEST(EventJson, TheFiveFieldsOfExistingSendersAreUnderstood) {
  Event event = Parsed(kReference);
  EXPECT_EQ(event.cluster_rack, "A03");
  EXPECT_EQ(event.node_host, "gpu-worker-08-5f7c9d8b4a");
  EXPECT_EQ(event.event_type, "NCCL_TIMEOUT");
  EXPECT_EQ(event.gpu_index, 0);
  EXPECT_EQ(event.gpu_util, 1.5);
  EXPECT_EQ(event.state, EventState::kFiring);
  EXPECT_EQ(event.extra, "");
}

TEST(EventJson, AnAbsentOrNullFieldIsUnknownNeverZero) {
  Event absent = Parsed(R"({"node_host":"h","event_type":"T"})");
  Event null = Parsed(
      R"({"node_host":"h","event_type":"T","gpu_index":null,"gpu_util":null,"cluster_rack":null})");
  for (const Event& event : {absent, null}) {
    EXPECT_FALSE(event.gpu_index.has_value());
    EXPECT_FALSE(event.gpu_util.has_value());
    EXPECT_EQ(event.cluster_rack, "");
  }
}

TEST(EventJson, ACompressedBodyIsCalledThat) {
  const Result<Event> event = ParseEvent("\x1f\x8b\x08\x01");
  ASSERT_FALSE(event.ok());
  EXPECT_THAT(event.error().message, testing::HasSubstr("compressed (gzip)"));
}

TEST(EventJson, OptionalFieldsAreUnderstood) {
  Event event = Parsed(
      R"({"node_host":"h","event_type":"XID_FATAL","gpu_index":-1,"gpu_uuid":"GPU-1","pci":"0000:3b:00.0",)"
      R"("job_id":"42","rank":7,"comm":"0xabc","nic":"mlx5_0","xid":79,"evidence":"fell off the bus",)"
      R"("event_id":"e-1","observed_at":"2026-08-17T08:30:00Z","state":"resolved"})");
  EXPECT_EQ(event.gpu_index, -1);
  EXPECT_EQ(event.gpu_uuid, "GPU-1");
  EXPECT_EQ(event.pci, "0000:3b:00.0");
  EXPECT_EQ(event.job_id, "42");
  EXPECT_EQ(event.rank, 7);
  EXPECT_EQ(event.comm, "0xabc");
  EXPECT_EQ(event.nic, "mlx5_0");
  EXPECT_EQ(event.xid, 79);
  EXPECT_EQ(event.evidence, "fell off the bus");
  EXPECT_EQ(event.event_id, "e-1");
  EXPECT_EQ(event.observed_at, "2026-08-17T08:30:00Z");
  EXPECT_EQ(event.state, EventState::kResolved);
}

TEST(EventJson, AnOptionalNameMayBeANumberAndIsKeptAsItWasWritten) {
  Event event =
      Parsed(R"({"node_host":"h","event_type":"T","job_id":12345,"event_id":18446744073709551615,)"
             R"("comm":-7,"nic":0,"pci":1.50,"gpu_uuid":123456789012345678901234567890})");
  EXPECT_EQ(event.job_id, "12345");
  EXPECT_EQ(event.event_id, "18446744073709551615");
  EXPECT_EQ(event.comm, "-7");
  EXPECT_EQ(event.nic, "0");
  EXPECT_EQ(event.pci, "1.50");
  EXPECT_EQ(event.gpu_uuid, "123456789012345678901234567890");
}

TEST(EventJson, AnOptionalIntegerMayBeItsDigits) {
  Event event =
      Parsed(R"({"node_host":"h","event_type":"T","xid":"79","rank":"-1","lease_ms":"60000"})");
  EXPECT_EQ(event.xid, 79);
  EXPECT_EQ(event.rank, -1);
  EXPECT_EQ(event.lease, std::chrono::seconds(60));
  for (const char* field :
       {R"("xid":"0x4f")", R"("xid":"79 ")", R"("xid":" 79")", R"("xid":"+79")", R"("xid":"")",
        R"("xid":"7.9")", R"("xid":"-1")", R"("xid":"99999999999999999999")", R"("rank":"-2")",
        R"("rank":"2147483648")", R"("lease_ms":"999")"}) {
    Refusal(std::string(R"({"node_host":"h","event_type":"T",)") + field + "}");
  }
}

TEST(EventJson, ANumberWithoutAFractionIsAnInteger) {
  Event event = Parsed(
      R"({"node_host":"h","event_type":"T","gpu_index":1.0,"rank":-1.0,"xid":7.9e1,"lease_ms":6e4})");
  EXPECT_EQ(event.gpu_index, 1);
  EXPECT_EQ(event.rank, -1);
  EXPECT_EQ(event.xid, 79);
  EXPECT_EQ(event.lease, std::chrono::seconds(60));
}

TEST(EventJson, TheTimeMayBeUnixSecondsOrMilliseconds) {
  auto observed = [](std::string_view time) {
    return Parsed(R"({"node_host":"h","event_type":"T","observed_at":)" + std::string(time) + "}")
        .observed_at;
  };
  EXPECT_EQ(observed("1795996334"), "2026-11-29T23:52:14.000Z");
  EXPECT_EQ(observed("1795996334250"), "2026-11-29T23:52:14.250Z");
  EXPECT_EQ(observed("1795996334.001"), "2026-11-29T23:52:14.001Z");
  EXPECT_EQ(observed("0"), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(observed("253402300799"), "9999-12-31T23:59:59.000Z");
  // None of the two, and no reason to lose an alarm.
  EXPECT_EQ(observed("-1"), "-1");
  EXPECT_EQ(observed("253402300800"), "253402300800");
  EXPECT_EQ(observed("1795996334250000000"), "1795996334250000000");
  EXPECT_EQ(observed("1e300"), "1e300");
  EXPECT_EQ(observed(R"("1795996334")"), "1795996334");
}

TEST(EventJson, UnknownFieldsAreKeptAsOneObject) {
  Event event = Parsed(
      R"({"site":"a","node_host":"h","x":{"y":[1,-2,2.5,{"z":null},"\"q\"",true],"e":{},"l":[]},"event_type":"T","n":1e3})");
  EXPECT_EQ(
      event.extra,
      R"({"site":"a","x":{"y":[1,-2,2.5,{"z":null},"\"q\"",true],"e":{},"l":[]},"n":1000.0})");
}

TEST(EventJson, StructuredEvidenceIsKeptAsItsText) {
  EXPECT_EQ(Parsed(R"({"node_host":"h","event_type":"T","evidence":{"crc":[1,2]}})").evidence,
            R"({"crc":[1,2]})");
}

TEST(EventJson, WhatIsNoSuchObjectIsRefusedWithTheFieldByName) {
  EXPECT_THAT(Refusal(R"({"event_type":"T"})"), testing::HasSubstr("node_host"));
  EXPECT_THAT(Refusal(R"({"node_host":"","event_type":"T"})"), testing::HasSubstr("node_host"));
  EXPECT_THAT(Refusal(R"({"node_host":null,"event_type":"T"})"), testing::HasSubstr("node_host"));
  EXPECT_THAT(Refusal(R"({"node_host":"h"})"), testing::HasSubstr("event_type"));
  EXPECT_THAT(Refusal(R"({"node_host":7,"event_type":"T"})"), testing::HasSubstr("node_host"));
  EXPECT_THAT(Refusal(R"({"node_host":"h","event_type":7})"), testing::HasSubstr("event_type"));
  for (const char* field : {R"("gpu_index":-2)",
                            R"("gpu_index":1.5)",
                            R"("gpu_index":"0")",
                            R"("gpu_index":3e9)",
                            R"("gpu_index":99999999999999999999)",
                            R"("gpu_index":true)",
                            R"("gpu_util":-0.1)",
                            R"("gpu_util":100.1)",
                            R"("gpu_util":"5")",
                            R"("cluster_rack":3)",
                            R"("state":"open")",
                            R"("xid":-1)",
                            R"("xid":79.5)",
                            R"("xid":2147483648.0)",
                            R"("xid":1e19)",
                            R"("rank":[])",
                            R"("rank":true)",
                            R"("event_id":{})",
                            R"("job_id":false)",
                            R"("comm":[1])",
                            R"("observed_at":true)",
                            R"("lease_ms":true)"}) {
    std::string body = std::string(R"({"node_host":"h","event_type":"T",)") + field + "}";
    std::string name(field + 1, std::string_view(field + 1).find('"'));
    EXPECT_THAT(Refusal(body), testing::HasSubstr(name));
  }
}

TEST(EventJson, BadJsonIsRefused) {
  for (const char* body :
       {"", " ", "{", "[]", "null", "7", "\"x\"", "{}", "[{}]",
        R"({"node_host":"h","event_type":"T"} x)", R"({"node_host":"h","event_type":"T"}{})",
        R"({"node_host":"h","event_type":"T",})", R"({'node_host':'h'})",
        R"({"node_host":"h","event_type":"T","gpu_util":1e999})",
        R"({"node_host":"h","event_type":"T","gpu_util":NaN})"}) {
    Refusal(body);
  }
}

TEST(EventJson, AKeyThatComesTwiceIsRefusedAtEveryDepth) {
  EXPECT_THAT(Refusal(R"({"node_host":"h","event_type":"T","node_host":"other"})"),
              testing::HasSubstr("twice"));
  EXPECT_THAT(Refusal(R"({"node_host":"h","event_type":"T","x":[{"a":1,"a":2}]})"),
              testing::HasSubstr("twice"));
  EXPECT_THAT(Refusal("{\"node_host\":\"h\",\"event_type\":\"T\",\"node\\u005fhost\":\"o\"}"),
              testing::HasSubstr("twice"));
  Parsed(R"({"node_host":"h","event_type":"T","x":{"node_host":1},"y":[{"a":1},{"a":2}]})");
}

TEST(EventJson, SixteenLevelsAreReadAndSeventeenRefused) {
  auto nested = [](int levels) {
    return R"({"node_host":"h","event_type":"T","x":)" + std::string(levels - 1, '[') +
           std::string(levels - 1, ']') + "}";
  };
  Parsed(nested(16));
  EXPECT_THAT(Refusal(nested(17)), testing::HasSubstr("deeper"));
  Refusal(R"({"x":)" + std::string(60000, '['));
}

TEST(EventJson, BytesThatAreNoUtf8AreRefused) {
  Refusal("{\"node_host\":\"h\xff\",\"event_type\":\"T\"}");
  Refusal("{\"node_host\":\"h\xe6\x9c\",\"event_type\":\"T\"}");
  Refusal(R"({"node_host":"\ud800","event_type":"T"})");
  EXPECT_EQ(Parsed("{\"node_host\":\"机架\",\"event_type\":\"T\"}").node_host, "机架");
}

TEST(EventJson, ABodyBeyondTheBoundIsRefused) {
  std::string body = R"({"node_host":"h","event_type":"T","x":")";
  Refusal(body + std::string(kEventBytesMax, 'x') + "\"}");
}

TEST(EventJson, WhatIsWrittenReadsBackTheSame) {
  for (std::string_view body :
       {std::string_view(kReference),
        std::string_view(R"({"node_host":"h","event_type":"T","gpu_index":-1,"gpu_util":100,)"
                         R"("rank":3,"xid":79,"evidence":"\"x\"\n","state":"resolved",)"
                         R"("resolves":"this","lease_ms":60000,)"
                         R"("more":{"a":[1,2,{"b":"c"}]},"and":null})")}) {
    Event first = Parsed(body);
    std::string written = WriteEvent(first);
    EXPECT_EQ(WriteEvent(Parsed(written)), written);
    EXPECT_EQ(Parsed(written).extra, first.extra);
    EXPECT_EQ(Parsed(written).state, first.state);
  }
}

TEST(EventJson, WritingReplacesWhatIsNoUtf8InsteadOfThrowing) {
  Event event;
  event.node_host = "h\xff";
  event.event_type = "T";
  EXPECT_EQ(Parsed(WriteEvent(event)).node_host, "h\xef\xbf\xbd");
}

}  // namespace
}  // namespace sentinel
