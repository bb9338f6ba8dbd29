// A communicator as NCCL drives it through one version of its profiler interface, for tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>

#include "nccl_side.h"

namespace sentinel::nccl_side {

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

}  // namespace sentinel::nccl_side
