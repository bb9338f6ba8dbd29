// What NCCL's profiler interface does to who believes it: stops that are missing or come twice,
// pointers of others, events of what is gone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>

#include "abi_side.h"

namespace sentinel {
namespace {

using namespace nccl_side;  // NOLINT: the vocabulary of these tests

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

}  // namespace
}  // namespace sentinel
