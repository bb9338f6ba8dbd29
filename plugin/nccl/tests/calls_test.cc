// The API events of v5 and later: who called what, in which order, and has the call returned.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "nccl_side.h"

namespace sentinel {
namespace {

using namespace nccl_side;  // NOLINT: the vocabulary of these tests

class Calls : public testing::TestWithParam<int> {
 protected:
  Calls()
      : plugin_(Plugin::Load(SENTINEL_PLUGIN, GetParam())),
        comm_(plugin_.Init(0x1234, "", 2, 4, 2)) {}
  ~Calls() override { plugin_.Finalize(comm_.context); }

  static CollFields Fields(const char* func, uint64_t count) {
    CollFields fields;
    fields.func = func;
    fields.count = count;
    return fields;
  }
  CommImage Comm() const {
    const BoardImage image = directory_.Read();
    EXPECT_EQ(1u, image.comms.size());
    return image.comms.empty() ? CommImage{} : image.comms[0];
  }

  BoardDirectory directory_;
  Plugin plugin_;
  Plugin::Comm comm_;
};
INSTANTIATE_TEST_SUITE_P(Versions, Calls, testing::Values(5, 6),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

TEST_P(Calls, AreOpenUntilTheyReturnAndReturnOnce) {
  void* one = plugin_.GroupApi(comm_.context);
  void* two = plugin_.GroupApi(comm_.context, 2);
  EXPECT_EQ(2u, Comm().line.api_calls_open);
  EXPECT_EQ(2u, Comm().line.api_calls);
  plugin_.Stop(one);
  plugin_.Stop(one);
  EXPECT_EQ(1u, Comm().line.api_calls_open);
  plugin_.Stop(two);
  EXPECT_EQ(0u, Comm().line.api_calls_open);
  EXPECT_EQ(2u, Comm().line.api_calls);
}

TEST_P(Calls, BlockedBeforeEnqueueingShowsTheCallAndNoOperation) {
  void* group = plugin_.GroupApi(comm_.context);
  plugin_.CollApi(comm_.context, group, Fields("AllReduce", 8));
  const CommImage comm = Comm();
  EXPECT_EQ(1u, comm.line.api_calls_open);
  EXPECT_EQ(0u, comm.line.operations_started);
  ASSERT_EQ(1u, comm.operations.size());
  EXPECT_FALSE(comm.operations[0].enqueued);
  EXPECT_FALSE(comm.operations[0].finished);
  EXPECT_EQ(Func::kUnknown, comm.line.open_func) << "a call is not an open operation";
}

TEST_P(Calls, KeepTheUsersCountWhereNcclCountsBytes) {
  void* group = plugin_.GroupApi(comm_.context);
  void* api = plugin_.CollApi(comm_.context, group, Fields("AllGather", 1000));
  CollFields bytes = Fields("AllGather", 4000);
  bytes.datatype = "ncclInt8";
  plugin_.Coll(comm_.context, api, plugin_.Group(comm_.context), 2, bytes);
  const CommImage comm = Comm();
  ASSERT_EQ(1u, comm.operations.size());
  EXPECT_EQ(1000u, comm.operations[0].op.count);
  EXPECT_EQ(DataType::kFloat32, comm.operations[0].op.datatype);
  EXPECT_TRUE(comm.operations[0].enqueued);
}

TEST_P(Calls, OfCollectivesMakeTheMarkOfTheirOrderByWhatTheUserAskedFor) {
  void* group = plugin_.GroupApi(comm_.context);
  void* api = plugin_.CollApi(comm_.context, group, Fields("AllGather", 1000));
  const CallMark called = Comm().line.marks[0];
  EXPECT_EQ(1u, called.calls);
  CollFields bytes = Fields("AllGather", 4000);
  bytes.datatype = "ncclInt8";
  plugin_.Coll(comm_.context, api, plugin_.Group(comm_.context), 2, bytes);
  EXPECT_EQ(called, Comm().line.marks[0]) << "enqueueing is no second call";
  plugin_.CollApi(comm_.context, group, Fields("AllGather", 1000));
  EXPECT_EQ(2u, Comm().line.marks[0].calls);
  EXPECT_NE(called.sum, Comm().line.marks[0].sum);
}

TEST_P(Calls, OfOneGroupKeepTheirOrderWhileNcclSortsWhatItEnqueues) {
  void* api_group = plugin_.GroupApi(comm_.context, 2);
  void* small = plugin_.CollApi(comm_.context, api_group, Fields("AllReduce", 8));
  void* large = plugin_.CollApi(comm_.context, api_group, Fields("Reduce", 8000));
  void* group = plugin_.Group(comm_.context);
  plugin_.Coll(comm_.context, large, group, 2, Fields("Reduce", 8000));
  plugin_.Coll(comm_.context, small, group, 2, Fields("AllReduce", 8));
  plugin_.Stop(api_group);
  const CommImage comm = Comm();
  ASSERT_EQ(2u, comm.operations.size());
  EXPECT_EQ(Func::kReduce, comm.operations[0].op.func);
  EXPECT_EQ(0u, comm.operations[0].op.index);
  EXPECT_EQ(1u, comm.operations[0].op.call_index);
  EXPECT_EQ(Func::kAllReduce, comm.operations[1].op.func);
  EXPECT_EQ(0u, comm.operations[1].op.call_index);
}

TEST_P(Calls, ThatNeverEnqueueDoNotBlockTheBoard) {
  // ncclBroadcast from 2.29.7 on: the call is all there is.
  for (int i = 0; i < 5000; ++i) {
    void* group = plugin_.GroupApi(comm_.context);
    plugin_.Stop(plugin_.CollApi(comm_.context, group, Fields("Broadcast", 8)));
    plugin_.Stop(group);
  }
  void* group = plugin_.GroupApi(comm_.context);
  void* api = plugin_.CollApi(comm_.context, group, Fields("AllReduce", 8));
  plugin_.Coll(comm_.context, api, plugin_.Group(comm_.context), 2, Fields("AllReduce", 8));
  const CommImage comm = Comm();
  EXPECT_EQ(1u, comm.line.operations_started);
  EXPECT_EQ(Func::kAllReduce, comm.line.open_func);
  ASSERT_LE(60u, comm.operations.size());
  EXPECT_EQ(5000u, comm.operations.back().op.call_index);
  EXPECT_EQ(Func::kBroadcast, comm.operations.front().op.func);
  EXPECT_FALSE(comm.operations.front().enqueued);
  EXPECT_EQ(0u, directory_.Read().header.dropped);
}

TEST_P(Calls, AGraphsReplaysAreOperationsOfTheirOwn) {
  void* group = plugin_.GroupApi(comm_.context);
  void* api = plugin_.CollApi(comm_.context, group, Fields("AllReduce", 8));
  plugin_.Stop(api);
  plugin_.Stop(group);
  for (int replay = 0; replay < 3; ++replay) {
    void* op =
        plugin_.Coll(comm_.context, api, plugin_.Group(comm_.context), 2, Fields("AllReduce", 8));
    plugin_.Stop(plugin_.KernelCh(comm_.context, op, 0));
  }
  const CommImage comm = Comm();
  EXPECT_EQ(3u, comm.line.operations_started);
  EXPECT_EQ(3u, comm.line.operations_finished);
  ASSERT_EQ(3u, comm.operations.size());
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(i, comm.operations[i].op.index);
}

TEST_P(Calls, SendsAndReceivesAreTiedToTheirCalls) {
  void* api_group = plugin_.GroupApi(comm_.context, 2);
  void* send = plugin_.P2pApi(comm_.context, api_group, "Send", 10);
  void* recv = plugin_.P2pApi(comm_.context, api_group, "Recv", 20);
  void* group = plugin_.Group(comm_.context);
  plugin_.P2p(comm_.context, recv, group, 2, "Recv", 1, 20);
  plugin_.P2p(comm_.context, send, group, 2, "Send", 3, 10);
  plugin_.Stop(api_group);
  const CommImage comm = Comm();
  ASSERT_EQ(2u, comm.operations.size());
  EXPECT_EQ(Func::kRecv, comm.operations[0].op.func);
  EXPECT_EQ(1u, comm.operations[0].op.call_index);
  EXPECT_EQ(1, comm.operations[0].op.peer);
  EXPECT_EQ(20u, comm.operations[0].op.count);
  EXPECT_EQ(0u, comm.operations[1].op.call_index);
  EXPECT_EQ(3, comm.operations[1].op.peer);
}

}  // namespace
}  // namespace sentinel
