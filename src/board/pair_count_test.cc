// Sends and receives are numbered by peer and direction, so that what pairs can be told.
#include <gtest/gtest.h>

#include "board/board_testing.h"
#include "board/decoder.h"
#include "model/progress.h"

namespace sentinel {
namespace {

class Pairs : public ::testing::Test {
 protected:
  board::CommRef Open(uint64_t id) {
    board::CommIdentity identity;
    identity.comm_id = id;
    identity.nranks = 4096;
    identity.nodes = 2;
    return board.writer->OpenComm(identity);
  }
  void Enqueue(board::CommRef comm, Func func, int32_t peer) {
    board::OperationInfo info;
    info.call.func = static_cast<uint8_t>(func);
    info.call.count = 8;
    info.peer = peer;
    info.channels = 1;
    const board::OperationRef operation = board.writer->Enqueue(comm, {}, info);
    board.writer->StartKernel(operation, 0);
    board.writer->CompleteKernel(operation, 0);
  }
  Operation Last(size_t comm = 0) {
    const Result<BoardImage> image = DecodeBoard(board.bytes());
    EXPECT_TRUE(image.ok());
    return image->comms.at(comm).operations.back().op;
  }

  board::TestBoard board;
};

TEST_F(Pairs, EachPeerAndDirectionIsCountedByItself) {
  const board::CommRef comm = Open(1);
  Enqueue(comm, Func::kSend, 3);
  EXPECT_EQ(Last().seq, 1u);
  Enqueue(comm, Func::kRecv, 3);
  EXPECT_EQ(Last().seq, 1u);
  Enqueue(comm, Func::kSend, 2);
  EXPECT_EQ(Last().seq, 1u);
  Enqueue(comm, Func::kSend, 3);
  EXPECT_EQ(Last().seq, 2u);
}

TEST_F(Pairs, CommunicatorsDoNotShareANumberAndANewOneBeginsAnew) {
  const board::CommRef first = Open(1);
  const board::CommRef second = Open(2);
  Enqueue(first, Func::kSend, 3);
  Enqueue(first, Func::kSend, 3);
  Enqueue(second, Func::kSend, 3);
  EXPECT_EQ(Last(1).seq, 1u);
  board.writer->CloseComm(first);
  Enqueue(Open(3), Func::kSend, 3);
  EXPECT_EQ(Last(1).seq, 1u) << "in whatever slot it is";
}

TEST_F(Pairs, WhatFindsNoRoomIsNotNumberedAndRoomComesBackWithTheCommunicatorsEnd) {
  const board::CommRef comm = Open(1);
  int32_t peer = 0;
  for (; peer < 4000; ++peer) {
    Enqueue(comm, Func::kSend, peer);
    if (board.writer->dropped() > 0) break;
  }
  ASSERT_LT(peer, 4000);
  EXPECT_EQ(Last().seq, 0u);
  board.writer->CloseComm(comm);
  Enqueue(Open(2), Func::kSend, peer);
  EXPECT_EQ(Last(1).seq, 1u);
}

}  // namespace
}  // namespace sentinel
