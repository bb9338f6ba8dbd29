// What NCCL's profiler interface may do to us, version by version.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "nccl_side.h"

namespace sentinel {
namespace {

using namespace nccl_side;  // NOLINT: the vocabulary of these tests

// A communicator of four ranks of which we are rank 2, on a board of its own.
class Abi : public testing::TestWithParam<int> {
 protected:
  Abi() : plugin_(Plugin::Load(SENTINEL_PLUGIN, GetParam())) { Open(); }
  ~Abi() override { plugin_.Finalize(comm_.context); }

  void Open() {
    comm_ = plugin_.Init(0x1234, "tensor", 2, 4, 2);
    ASSERT_EQ(0, comm_.result);
    ASSERT_NE(nullptr, comm_.context);
  }
  bool calls() const { return GetParam() >= 5; }
  bool kernels() const { return GetParam() >= 3; }

  struct Started {
    void* group_api = nullptr;
    void* api = nullptr;
    void* group = nullptr;
    void* op = nullptr;
  };
  // A collective as NCCL brings it, up to the return of the call.
  Started Enqueue(const CollFields& fields) {
    Started started;
    void* context = comm_.context;
    if (calls()) {
      started.group_api = plugin_.GroupApi(context);
      plugin_.State(started.group_api, kGroupStartApiStop);
      started.api = plugin_.CollApi(context, started.group_api, fields);
      plugin_.Stop(started.api);
      plugin_.State(started.group_api, kGroupEndApiStart);
    }
    started.group = plugin_.Group(context);
    started.op = plugin_.Coll(context, started.api, started.group, 2, fields);
    plugin_.Stop(started.op);
    plugin_.Stop(started.group);
    if (calls()) plugin_.Stop(started.group_api);
    return started;
  }
  static CollFields AllReduce(uint64_t seq, uint8_t channels = 1) {
    CollFields fields;
    fields.seq = seq;
    fields.count = 4096;
    fields.channels = channels;
    fields.comm_hash = 0x1234;
    fields.name = "tensor";
    return fields;
  }
  void* Receive(void* op, int steps = 12) {
    return plugin_.ProxyOp(comm_.context, op, getpid(), 0, 1, steps, false);
  }
  CommImage Comm() const {
    const BoardImage image = directory_.Read();
    EXPECT_EQ(1u, image.comms.size());
    return image.comms.empty() ? CommImage{} : image.comms[0];
  }
  OperationImage Last() const {
    const CommImage comm = Comm();
    EXPECT_FALSE(comm.operations.empty());
    return comm.operations.empty() ? OperationImage{} : comm.operations.back();
  }
  EdgeProgress OnlyEdge() const {
    const OperationImage last = Last();
    EXPECT_EQ(1u, last.edges.size());
    return last.edges.empty() ? EdgeProgress{} : last.edges[0];
  }

  BoardDirectory directory_;
  Plugin plugin_;
  Plugin::Comm comm_;
};
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

TEST_P(Abi, MissingReceiveStopsDoNotLookLikeAStuckGpu) {
  if (GetParam() > 3) GTEST_SKIP() << "of NCCL up to 2.26";
  const Started started = Enqueue(AllReduce(0));
  void* recv = Receive(started.op);
  void* first = plugin_.ProxyStep(comm_.context, recv, 0);
  for (int state : {kRecvWait, kRecvFlushWait, kRecvGpuWait}) plugin_.State(first, state);
  EXPECT_EQ(StepState::kRecvGpuWait, OnlyEdge().state)
      << "nothing later was posted: the GPU has it";
  void* second = plugin_.ProxyStep(comm_.context, recv, 1);
  plugin_.State(second, kRecvWait);
  EXPECT_EQ(1u, OnlyEdge().done);
  EXPECT_EQ(StepState::kRecvWait, OnlyEdge().state);
  plugin_.Stop(second);  // a stop that names the wrong step
  EXPECT_EQ(1u, OnlyEdge().done);
  plugin_.Stop(recv);
  if (kernels()) {
    EXPECT_EQ(12u, OnlyEdge().done);
  }
}

TEST_P(Abi, StoppingTwiceIsStoppingOnce) {
  const Started started = Enqueue(AllReduce(0, 2));
  void* recv = Receive(started.op);
  void* send = plugin_.ProxyOp(comm_.context, started.op, getpid(), 0, 3, 12, true);
  void* step = plugin_.ProxyStep(comm_.context, recv, 0);
  plugin_.ProxyStep(comm_.context, recv, 1);
  plugin_.State(step, kRecvGpuWait);
  plugin_.Stop(step);
  plugin_.Stop(step);
  if (GetParam() > 3) {
    for (const EdgeProgress& edge : Last().edges) {
      if (edge.direction == Direction::kRecv) {
        EXPECT_EQ(1u, edge.done);
      }
    }
  }
  plugin_.Stop(send);
  plugin_.Stop(send);
  EXPECT_EQ(1u, Last().proxies_finished);
  if (kernels()) {
    void* kernel = plugin_.KernelCh(comm_.context, started.op, 0);
    plugin_.Stop(kernel);
    plugin_.Stop(kernel);
    EXPECT_EQ(1u, Last().kernels_completed);
    EXPECT_FALSE(Last().finished);
  }
}

TEST_P(Abi, StatesAfterTheStopAreNothing) {
  const Started started = Enqueue(AllReduce(0));
  void* recv = Receive(started.op);
  void* step = plugin_.ProxyStep(comm_.context, recv, 0);
  plugin_.ProxyStep(comm_.context, recv, 1);
  plugin_.State(step, kRecvGpuWait);
  plugin_.Stop(step);
  plugin_.Stop(recv);
  const uint64_t before = Comm().line.progress;
  plugin_.State(step, kRecvWait);
  plugin_.State(recv, kOpInProgress);
  plugin_.State(started.op, kKernelStop);
  plugin_.ProxyStep(comm_.context, recv, 2);
  EXPECT_EQ(before, Comm().line.progress);
}

TEST_P(Abi, AForeignProcesssProxyIsAcceptedAndIgnored) {
  const Started started = Enqueue(AllReduce(0));
  // Under PXN the parent is another process's value, which may look like ours.
  void* foreign = plugin_.ProxyOp(reinterpret_cast<void*>(0x7f0000001000), started.op, getpid() + 1,
                                  0, 1, 12, true);
  EXPECT_NE(nullptr, foreign) << "without a handle NCCL drops the states of steps";
  EXPECT_EQ(0u, Last().proxies_started);
  void* step = plugin_.ProxyStep(reinterpret_cast<void*>(0x7f0000001000), foreign, 0);
  plugin_.State(foreign, kOpInProgress);
  plugin_.State(step, kSendWait);
  plugin_.Stop(step);
  plugin_.Stop(foreign);
  EXPECT_EQ(0u, Last().proxies_finished);
  EXPECT_TRUE(Last().edges.empty());
}

TEST_P(Abi, StepsNeedNoContextOfOurs) {
  const Started started = Enqueue(AllReduce(0));
  void* recv = Receive(started.op);
  plugin_.ProxyStep(reinterpret_cast<void*>(0x7f0000001000), recv, 0);
  EXPECT_EQ(1u, OnlyEdge().started);
}

TEST_P(Abi, RankZeroInOtherEventsDoesNotChangeTheRank) {
  const Started started = Enqueue(AllReduce(0));
  plugin_.Group(comm_.context);
  plugin_.KernelCh(comm_.context, started.op, 0);
  EXPECT_EQ(2, Comm().rank);
}

TEST_P(Abi, HandlesAreNeverAddressesAndAlwaysWritten) {
  const Started started = Enqueue(AllReduce(0));
  void* proxy = Receive(started.op);
  for (void* handle : {comm_.context, started.group, started.op, proxy}) {
    const auto bits = reinterpret_cast<uint64_t>(handle);
    EXPECT_NE(0u, bits >> 56);
    EXPECT_NE(0xffu, bits >> 56);
  }
  // Start itself checks that the handle was written.
  for (uint64_t type : {uint64_t{0}, kProxyCtrl, kNetPlugin, kKernelLaunch, kCeColl,
                        uint64_t{1} << 40, uint64_t{0xfe}})
    plugin_.Start(comm_.context, Descriptor(GetParam(), type, nullptr, 0));
}

TEST_P(Abi, NothingIsAnswerable) {
  void* handle = comm_.context;
  EXPECT_EQ(0, plugin_.table().start(comm_.context, &handle, nullptr));
  EXPECT_EQ(nullptr, handle);
  Descriptor group(GetParam(), kGroup, nullptr, 0);
  EXPECT_EQ(0, plugin_.table().start(comm_.context, nullptr, group.data()));
  EXPECT_EQ(0, plugin_.Stop(nullptr));
  EXPECT_EQ(0, plugin_.State(nullptr, kRecvWait));
  EXPECT_EQ(0, plugin_.Finalize(nullptr));
  CollFields fields = AllReduce(0);
  fields.func = fields.datatype = fields.algorithm = fields.protocol = fields.name = nullptr;
  Enqueue(fields);
  EXPECT_EQ(Func::kUnknown, Last().op.func);
}

TEST_P(Abi, ForeignPointersAreNothing) {
  int local = 0;
  void* const kPointers[] = {nullptr, &local, reinterpret_cast<void*>(1),
                             reinterpret_cast<void*>(~uint64_t{0}),
                             reinterpret_cast<void*>(0x7fffdeadbeef)};
  for (void* pointer : kPointers) {
    plugin_.Stop(pointer);
    plugin_.State(pointer, kRecvWait);
    plugin_.Finalize(pointer);
    plugin_.KernelCh(comm_.context, pointer, 0);
    EXPECT_NE(nullptr, plugin_.ProxyOp(comm_.context, pointer, getpid(), 0, 1, 12, false));
    plugin_.ProxyStep(comm_.context, pointer, 0);
    EXPECT_NE(nullptr, plugin_.Group(pointer));
    plugin_.Coll(pointer, pointer, pointer, 2, AllReduce(0));
  }
  EXPECT_TRUE(Comm().operations.empty());
  EXPECT_TRUE(Comm().line.live);
  // A collective counts whoever its parents are.
  for (void* pointer : kPointers) plugin_.Coll(comm_.context, pointer, pointer, 2, AllReduce(0));
  EXPECT_EQ(5u, Comm().operations.size());
}

TEST_P(Abi, ChannelsAndStepsBeyondAnyBoundAreNothing) {
  const Started started = Enqueue(AllReduce(0));
  plugin_.KernelCh(comm_.context, started.op, 200);
  EXPECT_NE(nullptr, plugin_.ProxyOp(comm_.context, started.op, getpid(), 200, 1, 12, false));
  void* recv = Receive(started.op, 4);
  for (int step : {4, 5, -1, 1 << 30}) plugin_.ProxyStep(comm_.context, recv, step);
  EXPECT_EQ(0u, OnlyEdge().started);
  EXPECT_EQ(0u, Last().kernels_started);
}

TEST_P(Abi, EventsAfterFinalizeAreNothing) {
  const Started started = Enqueue(AllReduce(0));
  void* recv = Receive(started.op);
  void* step = plugin_.ProxyStep(comm_.context, recv, 0);
  // Another communicator keeps the board.
  const Plugin::Comm other = plugin_.Init(0x9999, nullptr, 1, 2, 0);
  plugin_.Finalize(comm_.context);
  plugin_.State(step, kRecvWait);
  plugin_.Stop(step);
  plugin_.Stop(recv);
  plugin_.KernelCh(comm_.context, started.op, 0);
  Enqueue(AllReduce(1));
  plugin_.Finalize(comm_.context);
  const BoardImage image = directory_.Read();
  ASSERT_EQ(2u, image.comms.size());
  EXPECT_TRUE(image.comms[0].line.finalized);
  EXPECT_FALSE(image.comms[0].line.live);
  EXPECT_TRUE(image.comms[0].operations.empty());
  EXPECT_TRUE(image.comms[1].line.live);
  EXPECT_EQ("", image.comms[1].name);
  plugin_.Finalize(other.context);
  EXPECT_TRUE(directory_.Files().empty());
  plugin_.State(step, kRecvWait);
  Enqueue(AllReduce(2));
  EXPECT_TRUE(directory_.Files().empty());
}

TEST_P(Abi, ACommunicatorAfterTheLastOneGetsANewBoard) {
  const uint64_t generation = directory_.Read().header.generation;
  const Started stale = Enqueue(AllReduce(0));
  void* recv = Receive(stale.op);
  plugin_.Finalize(comm_.context);
  EXPECT_TRUE(directory_.Files().empty());
  Open();
  const BoardImage image = directory_.Read();
  EXPECT_NE(generation, image.header.generation);
  plugin_.ProxyStep(comm_.context, recv, 0);
  plugin_.KernelCh(comm_.context, stale.op, 0);
  EXPECT_TRUE(Comm().operations.empty());
  EXPECT_EQ(0u, Comm().line.progress);
}

TEST_P(Abi, StaleParentsDoNotReachTheirSlotsNextOperation) {
  if (!kernels()) GTEST_SKIP() << "operations without kernels are told apart by proxies only";
  void* first = nullptr;
  // Enough for every slot to have had another operation.
  for (uint64_t i = 0; i < 300; ++i) {
    const Started started = Enqueue(AllReduce(i));
    if (first == nullptr) first = started.op;
    plugin_.Stop(plugin_.KernelCh(comm_.context, started.op, 0));
  }
  Enqueue(AllReduce(300));
  EXPECT_EQ(300u, Comm().line.operations_finished);
  const uint64_t before = Comm().line.progress;
  plugin_.Stop(plugin_.KernelCh(comm_.context, first, 0));
  EXPECT_NE(nullptr, Receive(first));
  EXPECT_EQ(before, Comm().line.progress);
  EXPECT_EQ(0u, Last().kernels_started);
}

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

}  // namespace
}  // namespace sentinel
