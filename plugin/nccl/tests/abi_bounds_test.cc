// What the board does where it is full, and what it keeps until then.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "abi_side.h"

namespace sentinel {
namespace {

using namespace nccl_side;  // NOLINT: the vocabulary of these tests

TEST_P(Abi, TheLastSixtyFourOperationsStayToBeCompared) {
  for (uint64_t i = 0; i < 200; ++i) {
    const Started started = Enqueue(AllReduce(i));
    if (kernels()) plugin_.Stop(plugin_.KernelCh(comm_.context, started.op, 0));
  }
  const CommImage comm = Comm();
  ASSERT_GE(comm.operations.size(), 63u);
  ASSERT_LE(comm.operations.size(), 65u);
  for (size_t i = 1; i < comm.operations.size(); ++i)
    EXPECT_EQ(comm.operations[i - 1].op.index + 1, comm.operations[i].op.index);
  EXPECT_EQ(199u, comm.operations.back().op.index);
  EXPECT_FALSE(comm.truncated);
}

TEST_P(Abi, AHostFarAheadDoesNotPushOutTheOperationThatIsStuck) {
  if (!kernels()) GTEST_SKIP() << "nothing tells when an operation has finished";
  const Started stuck = Enqueue(AllReduce(0));
  plugin_.KernelCh(comm_.context, stuck.op, 0);
  void* recv = Receive(stuck.op);
  plugin_.State(plugin_.ProxyStep(comm_.context, recv, 0), kRecvWait);
  for (uint64_t i = 1; i < 500; ++i) Enqueue(AllReduce(i));
  const CommImage comm = Comm();
  EXPECT_EQ(500u, comm.operations.size());
  EXPECT_EQ(0u, comm.operations.front().op.index);
  ASSERT_EQ(1u, comm.operations.front().edges.size());
  EXPECT_EQ(StepState::kRecvWait, comm.operations.front().edges[0].state);
  EXPECT_FALSE(comm.truncated);
}

TEST_P(Abi, WhatFindsNoRoomIsCountedFlaggedAndForgotten) {
  if (!kernels()) GTEST_SKIP() << "nothing tells when an operation has finished";
  std::vector<void*> ops;
  for (uint64_t i = 0; i < 1200; ++i) ops.push_back(Enqueue(AllReduce(i)).op);
  EXPECT_TRUE(Comm().truncated);
  EXPECT_LT(100u, directory_.Read().header.dropped);
  for (void* op : ops) plugin_.Stop(plugin_.KernelCh(comm_.context, op, 0));
  EXPECT_EQ(1200u, Comm().line.operations_finished);
  for (uint64_t i = 1200; i < 3000; ++i)
    plugin_.Stop(plugin_.KernelCh(comm_.context, Enqueue(AllReduce(i)).op, 0));
  const CommImage comm = Comm();
  EXPECT_FALSE(comm.truncated) << "it has passed";
  EXPECT_EQ(3000u, comm.line.operations_finished);
}

TEST_P(Abi, EdgesThatFindNoRoomAreCountedAndFlagged) {
  const Started started = Enqueue(AllReduce(0));
  for (int i = 0; i < 5000; ++i) {
    void* recv = plugin_.ProxyOp(comm_.context, started.op, getpid(), i % 64, i, 12, false);
    EXPECT_NE(nullptr, recv);
    plugin_.ProxyStep(comm_.context, recv, 0);
  }
  EXPECT_TRUE(Comm().truncated);
  EXPECT_EQ(4096u, Last().edges.size());
  EXPECT_EQ(5000u, Last().proxies_started);
}

TEST_P(Abi, ProxiesOfOperationsToComeLeaveRoomForTheOneThatMoves) {
  std::vector<void*> proxies;
  for (uint64_t i = 0; i < 60; ++i) {
    const Started started = Enqueue(AllReduce(i, 64));
    for (int channel = 0; channel < 64; ++channel)
      proxies.push_back(
          plugin_.ProxyOp(comm_.context, started.op, getpid(), channel, 1, 12, false));
  }
  // The last operation's proxies were started when more than half of the slots were gone.
  for (size_t i = proxies.size() - 64; i < proxies.size(); ++i)
    plugin_.ProxyStep(comm_.context, proxies[i], 0);
  EXPECT_EQ(64u, Last().edges.size());
  EXPECT_FALSE(Comm().truncated);
}

}  // namespace
}  // namespace sentinel
