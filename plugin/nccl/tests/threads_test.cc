// Many threads at once, on code with the preset's instruments: this program links the plugin
// instead of loading it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "nccl_side.h"

extern "C" sentinel::nccl_side::RawTable ncclProfiler_v5;

namespace sentinel {
namespace {

using namespace nccl_side;  // NOLINT: the vocabulary of these tests

constexpr int kThreads = 8;

void InThreads(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

// One operation, on whatever handles it is given.
void* Operate(const Plugin& plugin, void* context, uint64_t seq) {
  CollFields fields;
  fields.seq = seq;
  void* api_group = plugin.GroupApi(context);
  void* api = plugin.CollApi(context, api_group, fields);
  void* op = plugin.Coll(context, api, plugin.Group(context), 0, fields);
  plugin.Stop(api_group);
  void* recv = plugin.ProxyOp(context, op, getpid(), 0, 1, 4, false);
  void* kernel = plugin.KernelCh(context, op, 0);
  for (int i = 0; i < 4; ++i) {
    void* step = plugin.ProxyStep(context, recv, i);
    plugin.State(step, kRecvWait);
    plugin.Stop(step);
  }
  plugin.Stop(kernel);
  plugin.Stop(recv);
  return op;
}

TEST(Threads, EachWithItsCommunicatorLoseNothing) {
  const BoardDirectory directory;
  const Plugin plugin(&ncclProfiler_v5, 5);
  std::vector<Plugin::Comm> comms;
  for (uint64_t i = 0; i < kThreads; ++i) comms.push_back(plugin.Init(i, "", 1, 2, 0));
  InThreads([&](int i) {
    for (uint64_t seq = 0; seq < 500; ++seq)
      Operate(plugin, comms[static_cast<size_t>(i)].context, seq);
  });
  const BoardImage image = directory.Read();
  ASSERT_EQ(static_cast<size_t>(kThreads), image.comms.size());
  for (const CommImage& comm : image.comms) {
    EXPECT_EQ(500u, comm.line.operations_started);
    EXPECT_EQ(500u, comm.line.operations_finished);
    EXPECT_EQ(0u, comm.line.api_calls_open);
    EXPECT_EQ(Func::kUnknown, comm.line.open_func);
    EXPECT_FALSE(comm.truncated);
  }
  EXPECT_EQ(0u, image.header.dropped);
  for (const Plugin::Comm& comm : comms) plugin.Finalize(comm.context);
}

// A thread that is off its core in the middle of an operation holds the others' slots, and they may
// run out; the counts still come out.
TEST(Threads, OnOneCommunicatorCountEverything) {
  const BoardDirectory directory;
  const Plugin plugin(&ncclProfiler_v5, 5);
  const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
  InThreads([&](int) {
    for (uint64_t seq = 0; seq < 500; ++seq) Operate(plugin, comm.context, seq);
  });
  const BoardImage image = directory.Read();
  EXPECT_EQ(500u * kThreads, image.comms[0].line.operations_started);
  EXPECT_EQ(500u * kThreads, image.comms[0].line.operations_finished);
  EXPECT_EQ(Func::kUnknown, image.comms[0].line.open_func);
  plugin.Finalize(comm.context);
}

TEST(Threads, OnOneProxyKeepTheBoardReadable) {
  const BoardDirectory directory;
  const Plugin plugin(&ncclProfiler_v5, 5);
  const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
  void* op = plugin.Coll(comm.context, nullptr, plugin.Group(comm.context), 0, {});
  void* recv = plugin.ProxyOp(comm.context, op, getpid(), 0, 1, 1000, false);
  InThreads([&](int) {
    for (int i = 0; i < 1000; ++i) {
      void* step = plugin.ProxyStep(comm.context, recv, i);
      plugin.State(step, kRecvWait);
      plugin.State(step, kRecvGpuWait);
      plugin.Stop(step);
    }
  });
  plugin.Stop(recv);
  const BoardImage image = directory.Read();
  ASSERT_EQ(1u, image.comms[0].operations.size());
  plugin.Finalize(comm.context);
}

TEST(Threads, FinalizingUnderRunningCallbacksIsHarmless) {
  const BoardDirectory directory;
  const Plugin plugin(&ncclProfiler_v5, 5);
  const Plugin::Comm keeper = plugin.Init(99, "", 1, 2, 0);
  std::atomic<void*> context{plugin.Init(1, "", 1, 2, 0).context};
  std::atomic<bool> done{false};
  std::thread closer([&] {
    for (uint64_t i = 2; i < 300; ++i)
      plugin.Finalize(context.exchange(plugin.Init(i, "", 1, 2, 0).context));
    done = true;
  });
  InThreads([&](int i) {
    if (i >= 4) return;
    for (uint64_t seq = 0; !done; ++seq) Operate(plugin, context, seq);
  });
  closer.join();
  plugin.Finalize(context);
  // Whatever was left behind, the board works.
  Operate(plugin, keeper.context, 0);
  const BoardImage image = directory.Read();
  EXPECT_EQ(1u, image.comms[0].line.operations_finished);
  plugin.Finalize(keeper.context);
}

TEST(Threads, AReaderAlwaysSeesWholeSlots) {
  const BoardDirectory directory;
  const Plugin plugin(&ncclProfiler_v5, 5);
  const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (uint64_t seq = 0; seq < 3000; ++seq) Operate(plugin, comm.context, seq);
    done = true;
  });
  while (!done) {
    const BoardImage image = directory.Read();
    ASSERT_EQ(1u, image.comms.size());
    for (const OperationImage& operation : image.comms[0].operations) {
      for (const EdgeProgress& edge : operation.edges) {
        ASSERT_LE(edge.done, edge.started);
        ASSERT_LE(edge.started, edge.steps);
        if (edge.done < edge.started) {
          ASSERT_NE(StepState::kNone, edge.state);
        }
      }
    }
  }
  writer.join();
  plugin.Finalize(comm.context);
}

}  // namespace
}  // namespace sentinel
