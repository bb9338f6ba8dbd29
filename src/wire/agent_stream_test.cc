#include "wire/agent_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "wire/agent_stream_limits.h"

namespace sentinel {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The payload of a frame that must be whole and alone.
std::string PayloadOf(const Result<std::string>& frame) {
  FrameReader reader;
  std::string payload;
  EXPECT_TRUE(reader.Append(frame.value()).ok());
  EXPECT_TRUE(reader.Next(&payload));
  std::string more;
  EXPECT_FALSE(reader.Next(&more));
  return payload;
}

template <typename T>
T UpRoundTrip(const T& message) {
  const Result<UpMessage> back = DecodeUp(PayloadOf(EncodeUp(message)));
  EXPECT_TRUE(back.ok()) << back.error().message;
  return std::get<T>(back.value());
}

template <typename T>
T DownRoundTrip(const T& message) {
  const Result<DownMessage> back = DecodeDown(PayloadOf(EncodeDown(message)));
  EXPECT_TRUE(back.ok()) << back.error().message;
  return std::get<T>(back.value());
}

Member SomeMember() {
  return {
      {"slurm:7.0", 0xfedcba9876543210u, 4}, 2, 4, "dp", {"gpu-08", 3, "0000:3b:00.0", 4711, 1023}};
}

Operation SomeOperation(uint64_t index) {
  Operation op;
  op.index = index;
  op.call_index = index + 1;
  op.seq = index;
  op.func = Func::kAllReduce;
  op.count = 4194304;
  op.datatype = DataType::kFloat32;
  op.root = -1;
  op.algorithm = Algorithm::kRing;
  op.protocol = Protocol::kSimple;
  op.channels = 2;
  op.peer = -1;
  op.order = 90000 + index;
  return op;
}

Digest SomeDigest() {
  Digest digest;
  digest.request_id = 9;
  digest.member = SomeMember();
  digest.phase = Phase::kInside;
  digest.op = SomeOperation(10);
  digest.operations_started = 12;
  digest.operations_finished = 10;
  digest.age = microseconds(412345);
  digest.suspect = true;
  digest.suspect_after = milliseconds(200);
  digest.edges = {{0, Direction::kRecv, 1, 12, 5, 3, StepState::kRecvGpuWait, 4, milliseconds(412)},
                  {1, Direction::kSend, 3, 12, 9, 5, StepState::kSendGpuWait, 4, milliseconds(7)}};
  digest.kernels = {true, 2, 2, 0};
  digest.vitals.state = ProcessState::kSleeping;
  digest.vitals.traced = true;
  digest.vitals.idle = false;
  digest.vitals.cpu_cores = 0.75;
  digest.vitals.io_bytes = 65536;
  digest.history = {240, milliseconds(31)};
  digest.recent = {SomeOperation(9), SomeOperation(10)};
  digest.truncated = true;
  return digest;
}

void ExpectSame(const Operation& a, const Operation& b) {
  EXPECT_TRUE(SameCall(a, b));
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.call_index, b.call_index);
  EXPECT_EQ(a.seq, b.seq);
  EXPECT_EQ(a.algorithm, b.algorithm);
  EXPECT_EQ(a.protocol, b.protocol);
  EXPECT_EQ(a.channels, b.channels);
  EXPECT_EQ(a.peer, b.peer);
  EXPECT_EQ(a.order, b.order);
}

TEST(AgentStream, AHelloComesThrough) {
  const Hello back =
      UpRoundTrip(Hello{1, "agent-1", "boot", "gpu-08", {{3, "0000:3b:00.0", "GPU-1"}}});
  EXPECT_EQ(back.agent_id, "agent-1");
  EXPECT_EQ(back.boot_id, "boot");
  EXPECT_EQ(back.host, "gpu-08");
  ASSERT_EQ(back.gpus.size(), 1u);
  EXPECT_EQ(back.gpus[0].index, 3);
  EXPECT_EQ(back.gpus[0].pci, "0000:3b:00.0");
  EXPECT_EQ(back.gpus[0].uuid, "GPU-1");
}

TEST(AgentStream, AnInventoryComesThrough) {
  const Inventory back =
      UpRoundTrip(Inventory{{SomeMember(), Member{}}, {{"slurm:7.0", {"train", "team-a", "li"}}}});
  ASSERT_EQ(back.members.size(), 2u);
  EXPECT_EQ(back.members[0], SomeMember());
  EXPECT_EQ(back.members[1], Member{});
  ASSERT_EQ(back.jobs.size(), 1u);
  EXPECT_EQ(back.jobs[0].job, "slurm:7.0");
  EXPECT_EQ(back.jobs[0].owner, (JobOwner{"train", "team-a", "li"}));
}

TEST(AgentStream, AHeartbeatComesThrough) {
  const Heartbeat back = UpRoundTrip(Heartbeat{8, 2, 1});
  EXPECT_EQ(back.boards, 8u);
  EXPECT_EQ(back.events_queued, 2u);
  EXPECT_EQ(back.dropped, 1u);
}

MemberCalls SomeCalls(size_t marks) {
  MemberCalls calls{SomeMember().comm, 2, 4711, {}};
  for (size_t i = 0; i < marks; ++i) calls.marks.push_back({8 * i + 8, kCallSumModulus - 1 - i});
  return calls;
}

TEST(AgentStream, ACallOrderComesThrough) {
  const CallOrder back = UpRoundTrip(CallOrder{{SomeCalls(3), MemberCalls{}}});
  ASSERT_EQ(back.members.size(), 2u);
  EXPECT_EQ(back.members[0].comm, SomeMember().comm);
  EXPECT_EQ(back.members[0].rank, 2);
  EXPECT_EQ(back.members[0].pid, 4711);
  EXPECT_EQ(back.members[0].marks, SomeCalls(3).marks);
  EXPECT_TRUE(back.members[1].marks.empty());
}

TEST(AgentStream, ACallOrderLooksAsItsFormatSays) {
  const CallOrder order{{{{"", 1, 4}, 2, 7, {{11, 0x1234}}}}};
  const unsigned char bytes[] = {
      0x22, 0, 0,    0, 0x3a, 0x20, 0x0a, 0x1e, 0x0a, 0x0b, 0x11, 1,    0,    0, 0, 0, 0, 0, 0,
      0x18, 4, 0x10, 2, 0x18, 7,    0x22, 0x0b, 0x08, 11,   0x11, 0x34, 0x12, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(EncodeUp(order).value(),
            std::string(reinterpret_cast<const char*>(bytes), sizeof(bytes)));
}

TEST(AgentStream, ACallOrderIsCutToWhatAReaderTakes) {
  CallOrder order{std::vector<MemberCalls>(kCallOrderMembersMax + 5, SomeCalls(kCallMarksMax + 3))};
  for (MemberCalls& member : order.members) member.comm.job = std::string(2000, 'j');
  order.members[0].marks.back().sum = UINT64_MAX;
  const CallOrder back = UpRoundTrip(order);
  ASSERT_EQ(back.members.size(), kCallOrderMembersMax);
  ASSERT_EQ(back.members[1].marks.size(), kCallMarksMax);
  EXPECT_EQ(back.members[1].marks.back(), SomeCalls(kCallMarksMax + 3).marks.back())
      << "the newest marks stay";
}

TEST(AgentStream, ADigestComesThroughWhole) {
  const Digest sent = SomeDigest();
  const Digest back = UpRoundTrip(sent);
  EXPECT_EQ(back.request_id, sent.request_id);
  EXPECT_EQ(back.member, sent.member);
  EXPECT_EQ(back.phase, sent.phase);
  ASSERT_TRUE(back.op.has_value());
  ExpectSame(*back.op, *sent.op);
  EXPECT_EQ(back.operations_started, sent.operations_started);
  EXPECT_EQ(back.operations_finished, sent.operations_finished);
  EXPECT_EQ(back.age, sent.age);
  EXPECT_TRUE(back.suspect);
  EXPECT_EQ(back.suspect_after, sent.suspect_after);
  ASSERT_EQ(back.edges.size(), 2u);
  EXPECT_EQ(back.edges[0].direction, Direction::kRecv);
  EXPECT_EQ(back.edges[0].peer, 1);
  EXPECT_EQ(back.edges[0].steps, 12u);
  EXPECT_EQ(back.edges[0].started, 5u);
  EXPECT_EQ(back.edges[0].done, 3u);
  EXPECT_EQ(back.edges[0].state, StepState::kRecvGpuWait);
  EXPECT_EQ(back.edges[0].in_state, 4u);
  EXPECT_EQ(back.edges[0].age, milliseconds(412));
  EXPECT_EQ(back.edges[1].channel, 1);
  EXPECT_TRUE(back.kernels.watched);
  EXPECT_EQ(back.kernels.channels, 2);
  EXPECT_EQ(back.kernels.started, 2);
  EXPECT_EQ(back.kernels.completed, 0);
  EXPECT_EQ(back.vitals.state, ProcessState::kSleeping);
  EXPECT_TRUE(back.vitals.traced);
  EXPECT_EQ(back.vitals.idle, std::optional<bool>(false));
  EXPECT_EQ(back.vitals.cpu_cores, 0.75);
  EXPECT_EQ(back.vitals.io_bytes, 65536u);
  EXPECT_EQ(back.history.operations, 240u);
  EXPECT_EQ(back.history.gap_p999, milliseconds(31));
  ASSERT_EQ(back.recent.size(), 2u);
  ExpectSame(back.recent[1], sent.recent[1]);
  EXPECT_TRUE(back.truncated);
}

TEST(AgentStream, UnknownIdleAndNoOperationStayUnknown) {
  const Digest back = UpRoundTrip(Digest{});
  EXPECT_FALSE(back.op.has_value());
  EXPECT_FALSE(back.vitals.idle.has_value());
}

TEST(AgentStream, EvidenceAndEventsComeThrough) {
  const HostEvidence evidence =
      UpRoundTrip(HostEvidence{"xid", "h", "0000:3b:00.0", 12, "mlx5_0", milliseconds(5), "79"});
  EXPECT_EQ(evidence.kind, "xid");
  EXPECT_EQ(evidence.pid, 12);
  EXPECT_EQ(evidence.nic, "mlx5_0");
  EXPECT_EQ(evidence.age, milliseconds(5));
  EXPECT_EQ(evidence.detail, "79");
  const SpooledEvent event = UpRoundTrip(SpooledEvent{77, std::string("{\"a\":\"\0\xff\"}", 10)});
  EXPECT_EQ(event.spool_id, 77u);
  EXPECT_EQ(event.body, std::string("{\"a\":\"\0\xff\"}", 10));
}

TEST(AgentStream, WhatTheGatewaySaysComesThrough) {
  EXPECT_EQ(DownRoundTrip(Welcome{1, "gw"}).gateway_id, "gw");
  const DetailRequest request =
      DownRoundTrip(DetailRequest{3, {"slurm:7.0", 5, 4}, milliseconds(100)});
  EXPECT_EQ(request.request_id, 3u);
  EXPECT_EQ(request.comm, (CommKey{"slurm:7.0", 5, 4}));
  EXPECT_EQ(request.deadline, milliseconds(100));
  const EventAck ack = DownRoundTrip(EventAck{77, 200, "{}"});
  EXPECT_EQ(ack.spool_id, 77u);
  EXPECT_EQ(ack.status, 200u);
  EXPECT_EQ(ack.body, "{}");
}

TEST(AgentStream, WhatAHostileBoardClaimsIsCutToWhatThePeerAccepts) {
  Digest wild = SomeDigest();
  wild.member.comm_name = std::string(5000, '\xe6');
  wild.member.comm.nranks = -4;
  wild.member.nodes = -1;
  wild.op->channels = -7;
  wild.age = -milliseconds(5);
  wild.suspect_after = Duration::max();
  wild.kernels.started = -1;
  wild.vitals.cpu_cores = std::numeric_limits<double>::quiet_NaN();
  wild.edges.resize(kDigestEdgesMax + 9);
  wild.edges[0].channel = -1;
  wild.recent.resize(kRecentCallsMax + 5);
  wild.recent.back().index = 99;
  wild.truncated = false;
  const Digest back = UpRoundTrip(wild);
  EXPECT_EQ(back.member.comm_name, std::string(kNameBytesMax, '?'));
  EXPECT_EQ(back.age, Duration(0));
  EXPECT_EQ(back.edges.size(), kDigestEdgesMax);
  ASSERT_EQ(back.recent.size(), kRecentCallsMax);
  EXPECT_EQ(back.recent.back().index, 99u) << "the newest calls are the ones kept";
  EXPECT_TRUE(back.truncated);
  EXPECT_EQ(UpRoundTrip(Inventory{std::vector<Member>(kInventoryMembersMax + 1)}).members.size(),
            kInventoryMembersMax);
}

TEST(AgentStream, ANameIsCutBetweenCharacters) {
  std::string name(kNameBytesMax - 1, 'a');
  name += "机";
  EXPECT_EQ(UpRoundTrip(Hello{1, name, "", "机架", {}}).agent_id,
            std::string(kNameBytesMax - 1, 'a'));
  EXPECT_EQ(UpRoundTrip(Hello{1, name, "", "机架", {}}).host, "机架");
}

TEST(AgentStream, AFrameNeverExceedsItsBound) {
  const Result<std::string> frame = EncodeUp(SpooledEvent{1, std::string(kFrameBytesMax, 'x')});
  ASSERT_FALSE(frame.ok());
  EXPECT_EQ(frame.error().code, ErrorCode::kExhausted);
}

// Raw protobuf, for what our own writer would never say.
std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
std::string VarintField(int number, uint64_t value) { return Varint(number << 3) + Varint(value); }
std::string BytesField(int number, const std::string& bytes) {
  return Varint(number << 3 | 2) + Varint(bytes.size()) + bytes;
}

TEST(AgentStream, NumbersOutOfRangeAreRefused) {
  const std::string edge_state = BytesField(4, BytesField(10, VarintField(7, 8)));
  const std::string phase = BytesField(4, VarintField(3, 4));
  const std::string func = BytesField(4, BytesField(4, VarintField(4, 16)));
  const std::string age = BytesField(4, VarintField(7, UINT64_MAX));
  const std::string nranks = BytesField(4, BytesField(2, BytesField(1, VarintField(3, -1ull))));
  const std::string state = BytesField(4, BytesField(12, VarintField(1, 7)));
  for (const std::string& payload : {edge_state, phase, func, age, nranks, state}) {
    const Result<UpMessage> decoded = DecodeUp(payload);
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().code, ErrorCode::kCorrupt);
  }
  std::string edges;
  for (size_t i = 0; i <= kDigestEdgesMax; ++i) edges += BytesField(10, "");
  EXPECT_FALSE(DecodeUp(BytesField(4, edges)).ok());
  std::string members;
  for (size_t i = 0; i <= kInventoryMembersMax; ++i) members += BytesField(1, "");
  EXPECT_FALSE(DecodeUp(BytesField(2, members)).ok());
  EXPECT_FALSE(DecodeUp(BytesField(1, BytesField(4, std::string(2000, 'h')))).ok());
  members.clear();
  for (size_t i = 0; i <= kCallOrderMembersMax; ++i) members += BytesField(1, "");
  EXPECT_FALSE(DecodeUp(BytesField(7, members)).ok());
  std::string marks;
  for (size_t i = 0; i <= kCallMarksMax; ++i) marks += BytesField(4, "");
  EXPECT_FALSE(DecodeUp(BytesField(7, BytesField(1, marks))).ok());
  const std::string sum_of_49_bits = std::string("\x11") + std::string(6, '\0') + "\x01" + '\0';
  EXPECT_FALSE(DecodeUp(BytesField(7, BytesField(1, BytesField(4, sum_of_49_bits)))).ok());
}

TEST(AgentStream, AnEmptyOrUnknownMessageIsRefused) {
  EXPECT_FALSE(DecodeUp("").ok());
  EXPECT_FALSE(DecodeDown("").ok());
  EXPECT_FALSE(DecodeUp(BytesField(15, "x")).ok());
  EXPECT_FALSE(DecodeUp("\xff\xff\xff").ok());
}

TEST(AgentStream, RandomBytesAndBrokenFramesNeverDoMoreThanFail) {
  std::mt19937_64 random(20261130);
  const std::string digest = PayloadOf(EncodeUp(SomeDigest()));
  const std::string order = PayloadOf(EncodeUp(CallOrder{{SomeCalls(3), SomeCalls(8)}}));
  for (int run = 0; run < 20000; ++run) {
    std::string bytes = run % 2 == 0 ? digest : order;
    for (int flips = random() % 4 + 1; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    bytes.resize(random() % 4 == 0 ? random() % bytes.size() : bytes.size());
    const Result<UpMessage> up = DecodeUp(bytes);
    if (up.ok()) {
      EXPECT_TRUE(EncodeUp(up.value()).ok());
    }
    const Result<DownMessage> down = DecodeDown(bytes);
    if (down.ok()) {
      EXPECT_TRUE(EncodeDown(down.value()).ok());
    }
  }
}

TEST(FrameReader, CutsAStreamHoweverItArrives) {
  std::string stream;
  std::vector<std::string> sent;
  for (uint64_t i = 1; i <= 40; ++i) {
    const std::string frame = EncodeUp(SpooledEvent{i, std::string(i * 37 % 400, 'x')}).value();
    stream += frame;
    sent.push_back(frame.substr(4));
  }
  std::mt19937_64 random(7);
  for (size_t piece_max : {1u, 3u, 100u, 100000u}) {
    FrameReader reader;
    std::vector<std::string> got;
    for (size_t at = 0; at < stream.size();) {
      const size_t piece = std::min<size_t>(random() % piece_max + 1, stream.size() - at);
      ASSERT_TRUE(reader.Append(std::string_view(stream).substr(at, piece)).ok());
      at += piece;
      std::string payload;
      while (reader.Next(&payload)) got.push_back(payload);
    }
    EXPECT_EQ(got, sent);
  }
}

TEST(FrameReader, ALengthOfNothingOrBeyondTheBoundEndsTheConnection) {
  FrameReader zero;
  EXPECT_FALSE(zero.Append(std::string(4, '\0')).ok());
  FrameReader huge;
  EXPECT_FALSE(huge.Append(std::string("\x01\x00\x10\x00", 4)).ok());
  FrameReader just;
  EXPECT_TRUE(just.Append(std::string("\x00\x00\x10\x00", 4)).ok());
  FrameReader behind_a_good_one;
  EXPECT_FALSE(
      behind_a_good_one.Append(EncodeUp(Heartbeat{1, 0, 0}).value() + "\xff\xff\xff\xff").ok());
}

}  // namespace
}  // namespace sentinel
