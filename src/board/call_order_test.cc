// The marks of call order that the writer keeps and the decoder shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "board/board_testing.h"
#include "board/decoder.h"
#include "model/progress.h"

namespace sentinel {
namespace {

using board::CallInfo;

CallInfo Info(Func func, uint64_t count, int32_t root = 0) {
  CallInfo info;
  info.func = static_cast<uint8_t>(func);
  info.datatype = static_cast<uint8_t>(DataType::kFloat32);
  info.count = count;
  info.root = root;
  return info;
}

// A rank whose calls are told, or only what is enqueued for them.
struct Rank {
  explicit Rank(bool calls_watched = true) {
    board::BoardIdentity identity;
    identity.calls_watched = calls_watched;
    memory.resize(sizeof(board::Board) / sizeof(uint64_t));
    writer = std::make_unique<board::Writer>();
    writer->Start(memory.data(), identity);
    comm = writer->OpenComm({1, 4, 4, 0, "dp", ""});
  }
  void Call(const CallInfo& info) {
    const board::OperationRef called = writer->Call(comm, {}, info);
    board::OperationInfo enqueued;
    enqueued.call = info;
    enqueued.channels = 1;
    const board::OperationRef operation = writer->Enqueue(comm, called, enqueued);
    writer->StartKernel(operation, 0);
    writer->CompleteKernel(operation, 0);
  }
  CommLine Line(size_t slot = 0) const {
    const auto* bytes = reinterpret_cast<const std::byte*>(memory.data());
    const Result<BoardHeader> header = DecodeBoardHeader({bytes, kBoardHeaderBytes});
    EXPECT_TRUE(header.ok());
    return header->comms[slot];
  }
  CallMark Last() const { return Line().marks[0]; }

  std::vector<uint64_t> memory;
  std::unique_ptr<board::Writer> writer;
  board::CommRef comm;
};

TEST(CallOrder, MarksAreOfTheLastMultiplesOfPowersOfEight) {
  Rank rank;
  for (int i = 0; i < 70'003; ++i) rank.Call(Info(Func::kAllReduce, 4096));
  const CommLine line = rank.Line();
  EXPECT_EQ(line.collectives, 70'003u);
  EXPECT_EQ(line.marks[0].calls, 70'003u);
  EXPECT_EQ(line.marks[1].calls, 70'000u);
  EXPECT_EQ(line.marks[2].calls, 69'952u);
  EXPECT_EQ(line.marks[3].calls, 69'632u);
  EXPECT_EQ(line.marks[4].calls, 69'632u);
  EXPECT_EQ(line.marks[3].sum, line.marks[4].sum);
}

TEST(CallOrder, ThereIsNoMarkBeforeItsCall) {
  Rank rank;
  EXPECT_EQ(rank.Last().calls, 0u);
  for (int i = 0; i < 7; ++i) rank.Call(Info(Func::kAllReduce, 4096));
  EXPECT_EQ(rank.Line().marks[0].calls, 7u);
  EXPECT_EQ(rank.Line().marks[1].calls, 0u);
}

TEST(CallOrder, RanksThatCallTheSameHaveTheSameSum) {
  Rank one, other;
  for (uint64_t i = 1; i < 100; ++i) {
    one.Call(Info(Func::kAllReduce, i));
    other.Call(Info(Func::kAllReduce, i));
    EXPECT_EQ(one.Last(), other.Last());
  }
}

TEST(CallOrder, FunctionCountTypeRootAndOrderAllGoIn) {
  const CallInfo usual = Info(Func::kBroadcast, 4096);
  CallInfo type = usual;
  type.datatype = static_cast<uint8_t>(DataType::kFloat16);
  std::vector<uint64_t> sums;
  for (const CallInfo& info : {usual, Info(Func::kReduce, 4096), Info(Func::kBroadcast, 4097), type,
                               Info(Func::kBroadcast, 4096, 1)}) {
    Rank rank;
    rank.Call(info);
    rank.Call(usual);
    sums.push_back(rank.Last().sum);
    if (info.func == usual.func && info.count == usual.count) continue;
    Rank changed_over;
    changed_over.Call(usual);
    changed_over.Call(info);
    sums.push_back(changed_over.Last().sum);
  }
  std::sort(sums.begin(), sums.end());
  EXPECT_EQ(std::adjacent_find(sums.begin(), sums.end()), sums.end());
}

TEST(CallOrder, TheDifferenceOfTwoMarksTellsOfTheCallsBetweenThem) {
  Rank right, wrong;
  right.Call(Info(Func::kAllReduce, 4096));
  wrong.Call(Info(Func::kAllReduce, 2048));
  const uint64_t right_at = right.Last().sum, wrong_at = wrong.Last().sum;
  EXPECT_NE(right_at, wrong_at);
  for (int i = 0; i < 20; ++i) {
    right.Call(Info(Func::kReduceScatter, 512));
    wrong.Call(Info(Func::kReduceScatter, 512));
  }
  EXPECT_EQ((right.Last().sum - right_at) % kCallSumModulus,
            (wrong.Last().sum - wrong_at) % kCallSumModulus);
}

TEST(CallOrder, SendsAndReceivesDoNotCount) {
  Rank rank;
  rank.Call(Info(Func::kAllGather, 8));
  const CallMark before = rank.Last();
  for (const Func func : {Func::kSend, Func::kRecv, Func::kAlltoAll, Func::kGather, Func::kScatter,
                          Func::kSendRecv, Func::kAllGatherV, Func::kUnknown, Func::kPutSignal})
    rank.Call(Info(func, 8));
  EXPECT_EQ(rank.Last(), before);
  EXPECT_EQ(rank.Line().collectives, 1u);
}

TEST(CallOrder, WhereCallsAreNotToldWhatIsEnqueuedCounts) {
  Rank told(true), untold(false);
  for (Rank* rank : {&told, &untold}) {
    board::OperationInfo info;
    info.call = Info(Func::kAllReduce, 8);
    rank->writer->Enqueue(rank->comm, {}, info);
  }
  EXPECT_EQ(told.Line().collectives, 0u) << "a graph that is replayed is no call";
  EXPECT_EQ(untold.Line().collectives, 1u);
}

TEST(CallOrder, ACallThatFindsNoSlotCountsAllTheSame) {
  Rank rank;
  const board::CallRef group = rank.writer->EnterCall(rank.comm);
  for (int i = 0; i < 3000; ++i) rank.writer->Call(rank.comm, group, Info(Func::kAllReduce, 8));
  EXPECT_GT(rank.writer->dropped(), 0u);
  EXPECT_EQ(rank.Last().calls, 3000u);
}

TEST(CallOrder, ANewCommunicatorInTheSlotBeginsAnew) {
  Rank rank;
  std::vector<board::CommRef> others;
  for (uint32_t i = 1; i < board::kComms; ++i)
    others.push_back(rank.writer->OpenComm({i + 1, 4, 4, 0, "", ""}));
  for (int i = 0; i < 20; ++i) rank.Call(Info(Func::kAllReduce, 8));
  rank.writer->CloseComm(rank.comm);
  EXPECT_EQ(rank.Line().collectives, 20u);
  rank.comm = rank.writer->OpenComm({77, 4, 4, 0, "", ""});
  EXPECT_EQ(rank.Line().collectives, 0u);
  for (const CallMark& mark : rank.Line().marks) EXPECT_EQ(mark.calls, 0u);
  Rank fresh;
  rank.Call(Info(Func::kAllReduce, 8));
  fresh.Call(Info(Func::kAllReduce, 8));
  EXPECT_EQ(rank.Last(), fresh.Last());
}

// A reader may copy the count and a mark with calls in between.
TEST(CallOrder, AMarkNewerThanTheCountIsStillItself) {
  Rank rank;
  for (int i = 0; i < 65'536 + 16; ++i) rank.Call(Info(Func::kAllReduce, 8));
  auto* header = reinterpret_cast<board::Header*>(rank.memory.data());
  for (const int64_t off : {-300, -20, -1, 0, 1, 300}) {
    header->lines[0].collectives = 65'552u + static_cast<uint64_t>(off);
    EXPECT_EQ(rank.Line().marks[0].calls, 65'552u) << off;
    EXPECT_EQ(rank.Line().marks[1].calls, 65'552u) << off;
    EXPECT_EQ(rank.Line().marks[2].calls, 65'536u) << off;
  }
  header->lines[0].marks[1] |= 3;
  header->lines[0].collectives = 65'552;
  EXPECT_EQ(rank.Line().marks[1].calls, 0u) << "no such number for this mark";
}

}  // namespace
}  // namespace sentinel
