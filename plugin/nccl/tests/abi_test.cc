// What NCCL's profiler interface tells, version by version, and what the board shows of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "abi_side.h"

namespace sentinel {
namespace {

using namespace nccl_side;  // NOLINT: the vocabulary of these tests

// Of all tests of Abi, in whichever file.
INSTANTIATE_TEST_SUITE_P(Versions, Abi, testing::Values(2, 3, 4, 5, 6),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

TEST_P(Abi, EveryFieldOfACollectiveArrives) {
  CollFields fields = AllReduce(77, 5);
  fields.func = "ReduceScatter";
  fields.count = 123456789012;
  fields.datatype = "ncclBfloat16";
  fields.root = 3;
  fields.algorithm = "TREE";
  fields.protocol = "LL128";
  Enqueue(fields);
  const CommImage comm = Comm();
  EXPECT_EQ(0x1234u, comm.comm_id);
  EXPECT_EQ("tensor", comm.name);
  EXPECT_EQ(2, comm.rank);
  // The old interfaces do not tell these.
  EXPECT_EQ(GetParam() >= 4 ? 4 : 0, comm.nranks);
  EXPECT_EQ(GetParam() >= 4 ? 2 : 0, comm.nodes);
  ASSERT_EQ(1u, comm.operations.size());
  const OperationImage& image = comm.operations[0];
  EXPECT_TRUE(image.enqueued);
  EXPECT_EQ(0u, image.op.index);
  EXPECT_EQ(0u, image.op.call_index);
  EXPECT_EQ(77u, image.op.seq);
  EXPECT_EQ(Func::kReduceScatter, image.op.func);
  EXPECT_EQ(123456789012u, image.op.count);
  EXPECT_EQ(DataType::kBfloat16, image.op.datatype);
  EXPECT_EQ(3, image.op.root);
  EXPECT_EQ(Algorithm::kTree, image.op.algorithm);
  EXPECT_EQ(Protocol::kLl128, image.op.protocol);
  EXPECT_EQ(5, image.op.channels);
}

TEST_P(Abi, SendAndRecvCarryTheirPeer) {
  void* group = plugin_.Group(comm_.context);
  plugin_.P2p(comm_.context, nullptr, group, 2, "Send", 3, 64);
  plugin_.P2p(comm_.context, nullptr, group, 2, "Recv", 1, 32);
  const CommImage comm = Comm();
  ASSERT_EQ(2u, comm.operations.size());
  EXPECT_EQ(Func::kSend, comm.operations[0].op.func);
  EXPECT_EQ(3, comm.operations[0].op.peer);
  EXPECT_EQ(64u, comm.operations[0].op.count);
  EXPECT_EQ(DataType::kFloat32, comm.operations[0].op.datatype);
  EXPECT_EQ(Func::kRecv, comm.operations[1].op.func);
  EXPECT_EQ(1, comm.operations[1].op.peer);
}

TEST_P(Abi, AsksForWhatTheVersionKnows) {
  const int kExpected[] = {0x1e, 0x5e, 0x5e, 0x75e, 0x75e};
  EXPECT_EQ(kExpected[GetParam() - 2], comm_.mask);
  const BoardHeader header = directory_.Read().header;
  EXPECT_EQ(kernels(), header.kernels_watched);
  EXPECT_TRUE(header.proxies_watched);
  EXPECT_EQ(getpid(), header.pid_as_seen);
}

TEST_P(Abi, StopOfACollectiveMeansEnqueuedAndNotCompleted) {
  const Started started = Enqueue(AllReduce(0));
  EXPECT_EQ(1u, Comm().line.operations_started);
  EXPECT_TRUE(Last().enqueued);
  if (!kernels()) return;
  EXPECT_EQ(0u, Comm().line.operations_finished);
  EXPECT_FALSE(Last().finished);
  plugin_.Stop(started.op);
  EXPECT_FALSE(Last().finished);
}

TEST_P(Abi, AnOperationFinishesWhenKernelsAndProxiesHave) {
  const Started started = Enqueue(AllReduce(0, 2));
  void* proxy = Receive(started.op, 1);
  EXPECT_FALSE(Last().finished);
  EXPECT_EQ(Func::kAllReduce, Comm().line.open_func);
  EXPECT_EQ(14, Comm().line.open_size_log2);
  if (kernels()) {
    void* kernels[2];
    for (int channel : {0, 1})
      kernels[channel] = plugin_.KernelCh(comm_.context, started.op, channel);
    EXPECT_EQ(2u, Last().kernels_started);
    for (void* kernel : kernels) {
      plugin_.State(kernel, kKernelStop, nullptr);
      plugin_.Stop(kernel);
    }
    EXPECT_EQ(2u, Last().kernels_completed);
    EXPECT_FALSE(Last().finished) << "its proxy has not";
  }
  plugin_.Stop(proxy);
  EXPECT_TRUE(Last().finished);
  EXPECT_EQ(1u, Last().proxies_finished);
  EXPECT_TRUE(Last().edges.empty()) << "finished operations free their edges";
  EXPECT_EQ(1u, Comm().line.operations_finished);
  EXPECT_EQ(Func::kUnknown, Comm().line.open_func);
}

TEST_P(Abi, AnEarlierLaunchHasFinishedWhenALaterOneHas) {
  if (!kernels()) GTEST_SKIP() << "needs kernels";
  const Started first = Enqueue(AllReduce(0, 2));
  plugin_.Stop(plugin_.KernelCh(comm_.context, first.op, 0));  // that of channel 1 is missed
  const Started second = Enqueue(AllReduce(1));
  EXPECT_EQ(0u, Comm().line.operations_finished);
  plugin_.Stop(plugin_.KernelCh(comm_.context, second.op, 0));
  EXPECT_EQ(2u, Comm().line.operations_finished);
  EXPECT_EQ(Func::kUnknown, Comm().line.open_func);
}

TEST_P(Abi, OperationsOfOneLaunchFinishEachForItself) {
  if (!kernels()) GTEST_SKIP() << "needs kernels";
  void* group = plugin_.Group(comm_.context);
  plugin_.P2p(comm_.context, nullptr, group, 2, "Recv", 1, 64);
  void* send = plugin_.P2p(comm_.context, nullptr, group, 2, "Send", 3, 64);
  plugin_.Stop(plugin_.KernelCh(comm_.context, send, 0));
  EXPECT_EQ(1u, Comm().line.operations_finished);
  EXPECT_EQ(Func::kRecv, Comm().line.open_func);
}

TEST_P(Abi, AnOperationThatNothingWatchesNeverLooksStuck) {
  setenv("SENTINEL_NCCL_MASK", "light", 1);
  plugin_.Finalize(comm_.context);
  Open();
  unsetenv("SENTINEL_NCCL_MASK");
  EXPECT_FALSE(directory_.Read().header.kernels_watched);
  const Started started = Enqueue(AllReduce(0));
  EXPECT_TRUE(Last().finished);
  EXPECT_EQ(0u, Comm().line.progress) << "enqueueing is no progress of the ring";
  // Its proxies make it visible, and open until they stop.
  void* recv = Receive(started.op, 1);
  EXPECT_FALSE(Last().finished);
  EXPECT_EQ(0u, Comm().line.operations_finished);
  plugin_.Stop(recv);
  EXPECT_TRUE(Last().finished);
  EXPECT_EQ(1u, Comm().line.operations_finished);
}

TEST_P(Abi, AKernelWithoutAlgorithmIsNotWaitedFor) {
  CollFields fields = AllReduce(0);
  fields.algorithm = "Unknown";  // symmetric memory: no kernel events will come
  Enqueue(fields);
  EXPECT_TRUE(Last().finished);
}

TEST_P(Abi, StepsGoThroughTheirStates) {
  const Started started = Enqueue(AllReduce(0));
  void* recv = Receive(started.op);
  plugin_.State(recv, kOpInProgress, reinterpret_cast<void*>(0x8));
  void* step = plugin_.ProxyStep(comm_.context, recv, 0);
  EXPECT_EQ(StepState::kPosted, OnlyEdge().state);
  const struct {
    int nccl;
    StepState ours;
  } kStates[] = {{kRecvWait, StepState::kRecvWait},
                 {kRecvFlushWait, StepState::kRecvFlushWait},
                 {kRecvGpuWait, StepState::kRecvGpuWait}};
  for (const auto& state : kStates) {
    const uint64_t before = Comm().line.progress;
    plugin_.State(step, state.nccl);
    EXPECT_EQ(state.ours, OnlyEdge().state);
    EXPECT_EQ(before + 1, Comm().line.progress);
  }
  EXPECT_EQ(Direction::kRecv, OnlyEdge().direction);
  EXPECT_EQ(1, OnlyEdge().peer);
  EXPECT_EQ(12u, OnlyEdge().steps);
  EXPECT_EQ(1u, OnlyEdge().started);
  EXPECT_EQ(0u, OnlyEdge().done);
}

TEST_P(Abi, SendStepsAreShownButAreNoProgress) {
  const Started started = Enqueue(AllReduce(0));
  void* send = plugin_.ProxyOp(comm_.context, started.op, getpid(), 0, 3, 12, true);
  const uint64_t before = Comm().line.progress;
  void* step = plugin_.ProxyStep(comm_.context, send, 0);
  plugin_.State(step, kSendGpuWait);
  EXPECT_EQ(StepState::kSendGpuWait, OnlyEdge().state);
  plugin_.State(step, kSendPeerWait);
  EXPECT_EQ(StepState::kSendPeerWait, OnlyEdge().state);
  plugin_.State(step, kSendWait);
  EXPECT_EQ(StepState::kSendWait, OnlyEdge().state);
  plugin_.Stop(step);
  EXPECT_EQ(1u, OnlyEdge().done);
  EXPECT_EQ(before, Comm().line.progress);
}

TEST_P(Abi, WhatNcclRepeatsOnEverySpinIsNoProgress) {
  const Started started = Enqueue(AllReduce(0));
  void* recv = Receive(started.op);
  void* step = plugin_.ProxyStep(comm_.context, recv, 0);
  plugin_.State(step, kRecvWait);
  const uint64_t before = Comm().line.progress;
  for (int spin = 0; spin < 100; ++spin) {
    EXPECT_EQ(step, plugin_.ProxyStep(comm_.context, recv, 0));
    plugin_.State(step, kRecvWait);
  }
  EXPECT_EQ(before, Comm().line.progress);
  EXPECT_EQ(1u, OnlyEdge().started);
  EXPECT_EQ(StepState::kRecvWait, OnlyEdge().state);
}

TEST_P(Abi, EightStepsMayBeOpenAndTheFirstUnfinishedOneIsShown) {
  const Started started = Enqueue(AllReduce(0));
  void* send = plugin_.ProxyOp(comm_.context, started.op, getpid(), 0, 3, 100, true);
  void* steps[8];
  for (int i = 0; i < 8; ++i) {
    steps[i] = plugin_.ProxyStep(comm_.context, send, i);
    plugin_.State(steps[i], kSendGpuWait);
  }
  for (int i = 0; i < 3; ++i) plugin_.State(steps[i], kSendWait);
  EXPECT_EQ(8u, OnlyEdge().started);
  EXPECT_EQ(StepState::kSendWait, OnlyEdge().state);
  EXPECT_EQ(3u, OnlyEdge().in_state);
  for (int i = 0; i < 3; ++i) plugin_.Stop(steps[i]);
  EXPECT_EQ(3u, OnlyEdge().done);
  EXPECT_EQ(StepState::kSendGpuWait, OnlyEdge().state);
  EXPECT_EQ(5u, OnlyEdge().in_state);
}

TEST_P(Abi, StepNumbersBeyondSixteenBitsAreKept) {
  const Started started = Enqueue(AllReduce(0));
  void* send = plugin_.ProxyOp(comm_.context, started.op, getpid(), 0, 3, 200000, true);
  for (int i = 0; i < 150000; ++i) plugin_.Stop(plugin_.ProxyStep(comm_.context, send, i));
  EXPECT_EQ(150000u, OnlyEdge().started);
  EXPECT_EQ(150000u, OnlyEdge().done);
}

}  // namespace
}  // namespace sentinel
