#include "board/decoder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "board/board_testing.h"
#include "board/layout.h"

namespace sentinel {
namespace {

using board::TestBoard;

// The numbers on a board are the model's.
static_assert(static_cast<int>(Func::kAllReduce) == 3 && static_cast<int>(Func::kWaitSignal) == 15);
static_assert(static_cast<int>(DataType::kFloat32) == 8);
static_assert(static_cast<int>(StepState::kSendGpuWait) == 2 &&
              static_cast<int>(StepState::kRecvGpuWait) == 7);

std::span<const std::byte> Bytes(const std::vector<std::byte>& bytes) { return bytes; }

template <typename T>
void Put(std::vector<std::byte>* bytes, size_t at, T value) {
  std::memcpy(bytes->data() + at, &value, sizeof(value));
}

// Everything a reader may rely on, whatever the bytes were.
void ExpectSane(const BoardImage& image) {
  EXPECT_LE(image.comms.size(), board::kComms);
  EXPECT_EQ(image.comms.size(), image.header.comms.size());
  size_t operations = 0, edges = 0;
  for (size_t i = 0; i < image.comms.size(); ++i) {
    const CommImage& comm = image.comms[i];
    EXPECT_EQ(static_cast<int>(i), comm.slot);
    EXPECT_LE(comm.name.size(), board::kNameBytes);
    operations += comm.operations.size();
    uint64_t index = 0;
    for (const OperationImage& operation : comm.operations) {
      EXPECT_LE(index, operation.op.index);
      index = operation.op.index;
      EXPECT_NE("", FuncName(operation.op.func));
      EXPECT_LE(operation.kernels_started, board::kChannels);
      edges += operation.edges.size();
      for (const EdgeProgress& edge : operation.edges) {
        EXPECT_LE(edge.done, edge.started);
        EXPECT_LE(edge.started, edge.steps);
        EXPECT_LE(edge.in_state, edge.started - edge.done);
        EXPECT_LT(edge.channel, static_cast<int>(board::kChannels));
        EXPECT_NE("", StepStateName(edge.state));
      }
    }
  }
  EXPECT_LE(operations, board::kOperations);
  EXPECT_LE(edges, board::kEdges);
}

TEST(Decoder, ShowsWhatTheWriterWrote) {
  TestBoard made;
  made.AddStuckComm(0xabc, 2, 3);
  const Result<BoardImage> image = DecodeBoard(made.bytes());
  ASSERT_TRUE(image.ok());
  ExpectSane(*image);
  EXPECT_EQ(1u, image->header.format);
  EXPECT_EQ(4711, image->header.pid_as_seen);
  EXPECT_EQ(0xfeedu, image->header.generation);
  EXPECT_EQ(22809u, image->header.nccl_version);
  ASSERT_EQ(1u, image->comms.size());
  const CommImage& comm = image->comms[0];
  EXPECT_EQ(0xabcu, comm.comm_id);
  EXPECT_EQ(8, comm.nranks);
  EXPECT_EQ(2, comm.nodes);
  EXPECT_EQ(3, comm.rank);
  EXPECT_EQ("data parallel", comm.name);
  EXPECT_EQ("0000:3b:00.0", comm.pci);
  EXPECT_EQ(4u, comm.line.operations_started);
  EXPECT_EQ(Func::kAllReduce, comm.line.open_func);
  EXPECT_EQ(22, comm.line.open_size_log2);
  // Two kernels, and per channel five receive steps started, changed, one of them stopped.
  EXPECT_EQ(2u + 2 * 11, comm.line.progress);
  ASSERT_EQ(4u, comm.operations.size());
  ASSERT_EQ(4u, comm.operations[0].edges.size());
  const EdgeProgress& recv = comm.operations[0].edges[1];
  EXPECT_EQ(Direction::kRecv, recv.direction);
  EXPECT_EQ(5u, recv.started);
  EXPECT_EQ(1u, recv.done);
  EXPECT_EQ(StepState::kRecvGpuWait, recv.state);
  EXPECT_EQ(4u, recv.in_state);
}

TEST(Decoder, TheHeaderAloneIsEnoughForAScan) {
  TestBoard made;
  made.AddStuckComm(1, 1, 0);
  made.AddStuckComm(2, 1, 0);
  const auto header = made.bytes().first(kBoardHeaderBytes);
  ASSERT_TRUE(DecodeBoardHeader(header).ok());
  EXPECT_EQ(2u, DecodeBoardHeader(header)->comms.size());
  ASSERT_TRUE(BoardBytes(header).ok());
  EXPECT_EQ(board::kBytes, *BoardBytes(header));
  EXPECT_FALSE(DecodeBoardHeader(header.first(4095)).ok());
  EXPECT_FALSE(DecodeBoard(header).ok());
}

TEST(Decoder, TellsABoardInTheMakingFromSomethingElse) {
  std::vector<std::byte> bytes(board::kBytes);
  EXPECT_EQ(ErrorCode::kUnavailable, DecodeBoardHeader(Bytes(bytes)).error().code);
  Put<uint64_t>(&bytes, 0, 0x4141414141414141);
  EXPECT_EQ(ErrorCode::kCorrupt, DecodeBoardHeader(Bytes(bytes)).error().code);
  EXPECT_EQ(ErrorCode::kCorrupt, DecodeBoardHeader({}).error().code);
}

TEST(Decoder, RefusesSizesThatDoNotFitTheFormat) {
  const TestBoard made;
  for (const size_t at : {offsetof(board::Header, format), offsetof(board::Header, size),
                          offsetof(board::Header, comms), offsetof(board::Header, operations),
                          offsetof(board::Header, edges)}) {
    std::vector<std::byte> bytes = made.Copy();
    Put<uint32_t>(&bytes, at, 0xffffffff);
    EXPECT_FALSE(BoardBytes(Bytes(bytes)).ok()) << at;
    EXPECT_FALSE(DecodeBoard(Bytes(bytes)).ok()) << at;
  }
}

TEST(Decoder, LeavesOutASlotThatWasBeingChangedAndSaysSo) {
  TestBoard made;
  made.AddStuckComm(1, 1, 1);
  const struct {
    size_t at;
    size_t operations;
    size_t edges;
  } kSlots[] = {
      {board::kOperationsAt + sizeof(board::Operation) + offsetof(board::Operation, begun), 1, 2},
      {board::kEdgesAt + offsetof(board::Edge, begun), 2, 1},
      {board::kCommsAt + offsetof(board::Comm, begun), 2, 2}};
  for (const auto& slot : kSlots) {
    std::vector<std::byte> bytes = made.Copy();
    Put<uint32_t>(&bytes, slot.at, 77);
    const Result<BoardImage> image = DecodeBoard(Bytes(bytes));
    ASSERT_TRUE(image.ok());
    EXPECT_TRUE(image->comms[0].truncated);
    ASSERT_EQ(slot.operations, image->comms[0].operations.size());
    EXPECT_EQ(slot.edges, image->comms[0].operations[0].edges.size());
  }
}

TEST(Decoder, ABoardCutAnywhereIsRefused) {
  TestBoard made;
  made.AddStuckComm(1, 4, 10);
  for (size_t size = 0; size < board::kBytes; size += 4099)
    EXPECT_FALSE(DecodeBoard(made.bytes().first(size)).ok());
}

TEST(Decoder, BytesBeyondTheBoardAreNotLookedAt) {
  TestBoard made;
  made.AddStuckComm(1, 4, 10);
  std::vector<std::byte> bytes = made.Copy();
  bytes.resize(bytes.size() + 1000, std::byte{0xff});
  EXPECT_TRUE(DecodeBoard(Bytes(bytes)).ok());
}

// The fuzzer looks deeper; this is in every run.
TEST(Decoder, StaysSaneWhateverTheBytesSay) {
  TestBoard made;
  for (uint64_t i = 0; i < 8; ++i) made.AddStuckComm(i, 8, 20);
  constexpr uint32_t kSeed = 20261130;
  std::mt19937 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> bytes = made.Copy();
    const int changes = 1 << (random() % 14);
    for (int i = 0; i < changes; ++i) {
      // Half of them where the used slots are; the header's own fields stay, or all are refused.
      constexpr size_t kFirst = offsetof(board::Header, lines);
      static constexpr size_t kParts[] = {kFirst, board::kCommsAt, board::kOperationsAt,
                                          board::kEdgesAt};
      const size_t at = random() % 2 == 0 ? kFirst + random() % (board::kBytes - kFirst)
                                          : kParts[random() % 4] + random() % 3000;
      bytes[at] = static_cast<std::byte>(random());
    }
    const Result<BoardImage> image = DecodeBoard(Bytes(bytes));
    ASSERT_TRUE(image.ok());
    ExpectSane(*image);
  }
}

TEST(Decoder, AllOnesAreABoardFullOfNothing) {
  const TestBoard made;
  std::vector<std::byte> bytes = made.Copy();
  std::fill(bytes.begin() + offsetof(board::Header, lines), bytes.end(), std::byte{0xff});
  const Result<BoardImage> image = DecodeBoard(Bytes(bytes));
  ASSERT_TRUE(image.ok());
  ExpectSane(*image);
}

}  // namespace
}  // namespace sentinel
