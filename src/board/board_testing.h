// Boards for tests, benchmarks and fuzzers: made by the writer, with something of everything on
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "board/writer.h"

namespace sentinel::board {

// A board in plain memory and its writer.
struct TestBoard {
  TestBoard() : memory(sizeof(Board) / sizeof(uint64_t)), writer(std::make_unique<Writer>()) {
    BoardIdentity identity;
    identity.pid = 4711;
    identity.start_ticks = 99;
    identity.generation = 0xfeed;
    identity.nccl_version = 22809;
    identity.abi = 5;
    identity.kernels_watched = true;
    identity.proxies_watched = true;
    writer->Start(memory.data(), identity);
  }

  // A communicator with an operation that is stuck and `behind` enqueued behind it.
  CommRef AddStuckComm(uint64_t comm_id, uint8_t channels, int behind) {
    CommIdentity identity;
    identity.comm_id = comm_id;
    identity.nranks = 8;
    identity.nodes = 2;
    identity.rank = 3;
    identity.name = "data parallel";
    identity.pci = "0000:3b:00.0";
    const CommRef comm = writer->OpenComm(identity);
    for (int i = 0; i <= behind; ++i) {
      OperationInfo info;
      info.call.func = 3;      // AllReduce
      info.call.datatype = 8;  // float32
      info.call.count = 1 << 20;
      info.seq = static_cast<uint64_t>(i);
      info.algorithm = 2;
      info.protocol = 3;
      info.channels = channels;
      info.plan = static_cast<uint32_t>(i + 1);
      const OperationRef operation = writer->Enqueue(comm, {}, info);
      if (i == 0) Stick(operation, channels);
    }
    return comm;
  }

  std::span<const std::byte> bytes() const {
    return {reinterpret_cast<const std::byte*>(memory.data()), kBytes};
  }
  std::vector<std::byte> Copy() const { return {bytes().begin(), bytes().end()}; }

  std::vector<uint64_t> memory;  // aligned
  std::unique_ptr<Writer> writer;

 private:
  // Received steps that the GPU does not consume, on every channel.
  void Stick(OperationRef operation, uint8_t channels) {
    for (uint8_t channel = 0; channel < channels; ++channel) {
      writer->StartKernel(operation, channel);
      for (const bool receives : {false, true}) {
        const ProxyRef proxy = writer->StartProxy(
            operation,
            {.channel = channel, .receives = receives, .peer = receives ? 2 : 4, .steps = 12});
        for (uint32_t step = 0; step < 5; ++step) {
          writer->StartStep(proxy, step);
          writer->ChangeStep(proxy, step, receives ? 7 : 2);
        }
        writer->StopStep(proxy, 0);
      }
    }
  }
};

}  // namespace sentinel::board
