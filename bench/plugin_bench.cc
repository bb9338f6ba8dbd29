// What a training job pays per callback, kind by kind. Budget: 30 ns a step callback, 100 ns an API
// callback.
//
// Descriptors are built beforehand and parents prepared outside the clock, kBatch at a time, so
// that what is timed is the plugin alone, on slots as cold as a ring of operations leaves them.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "nccl_side.h"

namespace sentinel {
namespace {

using namespace nccl_side;  // NOLINT: the vocabulary of these benchmarks

constexpr int kBatch = 512;

struct Ring {
  Ring() : plugin(Plugin::Load(SENTINEL_PLUGIN, 5)), comm(plugin.Init(1, "", 2, 4, 0)) {}
  ~Ring() { plugin.Finalize(comm.context); }

  void* Start(Descriptor& descriptor) const {
    void* handle = nullptr;
    plugin.table().start(comm.context, &handle, descriptor.data());
    return handle;
  }
  // Lets an operation go through its kernel, so that its slot is free again.
  void Finish(void* op) const { plugin.Stop(plugin.KernelCh(comm.context, op, 0)); }

  BoardDirectory directory;
  Plugin plugin;
  Plugin::Comm comm;
};

// Times `call` over what `prepare` has made, and cleans up with `after`.
void Batches(benchmark::State& state, const std::function<void()>& prepare, auto call,
             const std::function<void()>& after, int callbacks = 1) {
  for (auto _ : state) {
    state.PauseTiming();
    prepare();
    state.ResumeTiming();
    for (int i = 0; i < kBatch; ++i) call(i);
    state.PauseTiming();
    after();
    state.ResumeTiming();
  }
  state.counters["per_callback"] = benchmark::Counter(
      static_cast<double>(kBatch * callbacks),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void GroupApi(benchmark::State& state) {
  const Ring ring;
  Descriptor descriptor(5, kGroupApi, nullptr, 0);
  Batches(
      state, [] {}, [&](int) { ring.plugin.Stop(ring.Start(descriptor)); }, [] {}, 2);
}
BENCHMARK(GroupApi);

Descriptor CollApiDescriptor() {
  Descriptor descriptor(5, kCollApi, nullptr, 0);
  descriptor.Put(24, "AllReduce").Put<uint64_t>(32, 4096).Put(40, "ncclFloat32");
  descriptor.Put<int32_t>(48, 0).Put<uint8_t>(64, 0);
  return descriptor;
}

Descriptor CollDescriptor() {
  Descriptor descriptor(5, kColl, nullptr, 0);
  descriptor.Put<uint64_t>(24, 1).Put(32, "AllReduce").Put<uint64_t>(56, 4096);
  descriptor.Put<int32_t>(64, 0).Put(72, "ncclFloat32").Put<uint8_t>(80, 1);
  descriptor.Put(88, "RING").Put(96, "SIMPLE").Put<void*>(104, nullptr);
  return descriptor;
}

void CollApi(benchmark::State& state) {
  const Ring ring;
  Descriptor descriptor = CollApiDescriptor();
  Batches(
      state, [] {}, [&](int) { ring.plugin.Stop(ring.Start(descriptor)); }, [] {}, 2);
}
BENCHMARK(CollApi);

// Its start alone: where the order of calls is kept.
void CollApiStart(benchmark::State& state) {
  const Ring ring;
  Descriptor descriptor = CollApiDescriptor();
  Batches(
      state, [] {}, [&](int) { benchmark::DoNotOptimize(ring.Start(descriptor)); }, [] {});
}
BENCHMARK(CollApiStart);

Descriptor P2pApiDescriptor() {
  Descriptor descriptor(5, kP2pApi, nullptr, 0);
  descriptor.Put(24, "Send").Put<uint64_t>(32, 4096).Put(40, "ncclFloat32");
  descriptor.Put<uint8_t>(56, 0);
  return descriptor;
}

Descriptor P2pDescriptor() {
  Descriptor descriptor(5, kP2p, nullptr, 0);
  descriptor.Put(24, "Send").Put(40, "ncclFloat32").Put<uint64_t>(48, 4096);
  descriptor.Put<int32_t>(56, 1).Put<uint8_t>(60, 1).Put<void*>(64, nullptr);
  return descriptor;
}

void P2pApi(benchmark::State& state) {
  const Ring ring;
  Descriptor descriptor = P2pApiDescriptor();
  Batches(
      state, [] {}, [&](int) { ring.plugin.Stop(ring.Start(descriptor)); }, [] {}, 2);
}
BENCHMARK(P2pApi);

void P2pApiStart(benchmark::State& state) {
  const Ring ring;
  Descriptor descriptor = P2pApiDescriptor();
  Batches(
      state, [] {}, [&](int) { benchmark::DoNotOptimize(ring.Start(descriptor)); }, [] {});
}
BENCHMARK(P2pApiStart);

// Operations of calls in one group: their starts, each followed by its stop if `callbacks` is 2.
void Enqueue(benchmark::State& state, Descriptor api, Descriptor operation, int callbacks) {
  const Ring ring;
  std::vector<void*> calls(kBatch), ops(kBatch);
  void* group = nullptr;
  Batches(
      state,
      [&] {
        group = ring.plugin.GroupApi(ring.comm.context);
        api.Put<void*>(8, group);
        for (void*& call : calls) call = ring.Start(api);
      },
      [&](int i) {
        operation.Put<void*>(8, calls[static_cast<size_t>(i)]);
        void* op = ops[static_cast<size_t>(i)] = ring.Start(operation);
        if (callbacks == 2) ring.plugin.Stop(op);
      },
      [&] {
        ring.plugin.Stop(group);
        for (void* op : ops) ring.Finish(op);
      },
      callbacks);
}

void CollStart(benchmark::State& state) {
  Enqueue(state, CollApiDescriptor(), CollDescriptor(), 1);
}
BENCHMARK(CollStart);

void Coll(benchmark::State& state) { Enqueue(state, CollApiDescriptor(), CollDescriptor(), 2); }
BENCHMARK(Coll);

void P2pStart(benchmark::State& state) { Enqueue(state, P2pApiDescriptor(), P2pDescriptor(), 1); }
BENCHMARK(P2pStart);

void P2p(benchmark::State& state) { Enqueue(state, P2pApiDescriptor(), P2pDescriptor(), 2); }
BENCHMARK(P2p);

void Group(benchmark::State& state) {
  const Ring ring;
  Descriptor descriptor(5, kGroup, nullptr, 0);
  Batches(
      state, [] {}, [&](int) { ring.plugin.Stop(ring.Start(descriptor)); }, [] {}, 2);
}
BENCHMARK(Group);

void KernelCh(benchmark::State& state) {
  const Ring ring;
  Descriptor coll = CollDescriptor();
  Descriptor kernel(5, kKernelCh, nullptr, 0);
  kernel.Put<uint8_t>(24, 0);
  std::vector<void*> ops(kBatch);
  Batches(
      state,
      [&] {
        for (void*& op : ops) op = ring.Start(coll);
      },
      [&](int i) {
        kernel.Put<void*>(8, ops[static_cast<size_t>(i)]);
        ring.plugin.Stop(ring.Start(kernel));
      },
      [] {}, 2);
}
BENCHMARK(KernelCh);

Descriptor ProxyOpDescriptor(void* op, int steps, int pid) {
  Descriptor descriptor(5, kProxyOp, op, 0);
  descriptor.Put<int32_t>(24, pid).Put<uint8_t>(28, 0).Put<int32_t>(32, 1);
  descriptor.Put<int32_t>(36, steps).Put<int32_t>(44, 0);
  return descriptor;
}

void ProxyOp(benchmark::State& state) {
  const Ring ring;
  Descriptor coll = CollDescriptor();
  void* op = nullptr;
  Descriptor proxy = ProxyOpDescriptor(nullptr, 12, getpid());
  Batches(
      state, [&] { proxy.Put<void*>(8, op = ring.Start(coll)); },
      [&](int) { ring.plugin.Stop(ring.Start(proxy)); }, [&] { ring.Finish(op); }, 2);
}
BENCHMARK(ProxyOp);

void ForeignProxyOp(benchmark::State& state) {
  const Ring ring;
  Descriptor proxy = ProxyOpDescriptor(nullptr, 12, getpid() + 1);
  Batches(
      state, [] {}, [&](int) { ring.plugin.Stop(ring.Start(proxy)); }, [] {}, 2);
}
BENCHMARK(ForeignProxyOp);

// All five callbacks of a received step.
void ReceiveStep(benchmark::State& state) {
  const Ring ring;
  Descriptor coll = CollDescriptor();
  Descriptor step(5, kProxyStep, nullptr, 0);
  void *op = nullptr, *proxy = nullptr;
  Batches(
      state,
      [&] {
        op = ring.Start(coll);
        Descriptor descriptor = ProxyOpDescriptor(op, kBatch, getpid());
        step.Put<void*>(8, proxy = ring.Start(descriptor));
      },
      [&](int i) {
        step.Put<int32_t>(24, i);
        void* handle = ring.Start(step);
        ring.plugin.State(handle, kRecvWait);
        ring.plugin.State(handle, kRecvFlushWait);
        ring.plugin.State(handle, kRecvGpuWait);
        ring.plugin.Stop(handle);
      },
      [&] {
        ring.plugin.Stop(proxy);
        ring.Finish(op);
      },
      5);
}
BENCHMARK(ReceiveStep);

// What NCCL repeats on every spin of its proxy while it waits.
void SpinningSendStep(benchmark::State& state) {
  const Ring ring;
  Descriptor coll = CollDescriptor();
  void* op = ring.Start(coll);
  Descriptor proxy = ProxyOpDescriptor(op, 12, getpid());
  proxy.Put<int32_t>(44, 1);
  void* handle = ring.plugin.ProxyStep(ring.comm.context, ring.Start(proxy), 0);
  Batches(
      state, [] {}, [&](int) { ring.plugin.State(handle, kSendPeerWait); }, [] {});
}
BENCHMARK(SpinningSendStep);

}  // namespace
}  // namespace sentinel
