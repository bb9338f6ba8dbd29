// Proxies and their steps: the part of the writer that runs in NCCL's data path.
#include "board/writer.h"

namespace sentinel::board {
namespace {

// StepState's numbers (model/progress.h).
constexpr uint8_t kPosted = 1;
constexpr uint8_t kSendFirst = 2, kSendLast = 4;
constexpr uint8_t kRecvFirst = 5, kRecvLast = 7;

constexpr uint32_t Shift(uint32_t step) { return 4 * (step % kStepsOpen); }
uint8_t StateOf(uint32_t states, uint32_t step) { return (states >> Shift(step)) & 15; }
uint32_t WithState(uint32_t states, uint32_t step, uint8_t state) {
  return (states & ~(15u << Shift(step))) | static_cast<uint32_t>(state) << Shift(step);
}

// The step number nearest to `near` with these low 16 bits.
uint32_t Widen(uint32_t low, uint32_t near) {
  return near + static_cast<uint32_t>(static_cast<int16_t>(static_cast<uint16_t>(low - near)));
}

// Forgets the states of the steps up to `done`.
void Advance(Edge& edge, uint32_t done) {
  uint32_t states = Load(edge.states);
  const uint32_t before = Load(edge.done);
  if (done - before >= kStepsOpen) {
    states = 0;
  } else {
    for (uint32_t step = before; step != done; ++step) states = WithState(states, step, 0);
  }
  Store(edge.states, states);
  Store(edge.done, done);
}

}  // namespace

Writer::ProxyState* Writer::Find(ProxyRef ref) {
  if (ref.slot >= kProxiesMax) return nullptr;
  ProxyState& proxy = proxies_[ref.slot];
  const uint32_t generation = LoadAcquire(proxy.generation);
  if ((generation & 1) == 0 || ((generation ^ ref.generation) & kGenerationMask) != 0)
    return nullptr;
  return &proxy;
}

ProxyRef Writer::StartProxy(OperationRef ref, const ProxyInfo& info) {
  if (!Valid(ref)) return {};
  Operation& shown = board_->operations[ref.slot];
  const uint32_t slot = info.channel < kChannels ? proxy_pool_.Take() : Pool<kProxiesMax>::kNone;
  if (slot == Pool<kProxiesMax>::kNone) {
    Drop();
    Or(shown.flags, kEdgesLost);
    return {};
  }
  OperationState& operation = operations_[ref.slot];
  ProxyState& proxy = proxies_[slot];
  Store(proxy.operation, ref.slot);
  Store(proxy.operation_generation, Load(operation.generation));
  Store(proxy.edge, 0);
  Store(proxy.steps, info.steps);
  Store(proxy.peer, info.peer);
  Store(proxy.channel, info.channel);
  Store(proxy.receives, info.receives ? 1 : 0);
  Store(proxy.stops_missing, info.stops_missing ? 1 : 0);
  Store(proxy.stopped, 0);
  Store(proxy.lost, 0);
  const uint32_t generation = Load(proxy.generation) + 1;
  StoreRelease(proxy.generation, generation);
  Add(shown.proxies_started, 1);
  uint32_t first = Load(operation.proxies);
  do {
    Store(proxy.next, first);
  } while (!__atomic_compare_exchange_n(&operation.proxies, &first, slot + 1, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  // A host far ahead of its GPU starts proxies for hundreds of operations; those that move come
  // first when slots get scarce.
  if (edge_pool_.taken() < kEdgesEager) EdgeOf(proxy, /*must=*/false);
  if ((Load(shown.flags) & kBlind) != 0) Reopen(ref.slot);
  return {slot, generation & kGenerationMask};
}

Edge* Writer::EdgeOf(ProxyState& proxy, bool must) {
  const uint32_t held = LoadAcquire(proxy.edge);
  if (held != 0) return &board_->edges[held - 1];
  const uint32_t slot = edge_pool_.Take();
  if (slot == Pool<kEdges>::kNone) {
    if (must && Exchange(proxy.lost, 1) == 0) {
      Drop();
      Or(board_->operations[Load(proxy.operation)].flags, kEdgesLost);
    }
    return nullptr;
  }
  Edge& edge = board_->edges[slot];
  const uint32_t operation = Load(proxy.operation);
  {
    Change<Edge> change(edge);
    Store(edge.operation_generation, Load(proxy.operation_generation));
    Store(edge.operation, operation);
    Store(edge.comm, Load(operations_[operation].comm));
    Store(edge.channel, Load(proxy.channel));
    Store(edge.direction, Load(proxy.receives));
    Store(edge.peer, Load(proxy.peer));
    Store(edge.steps, Load(proxy.steps));
    Store(edge.started, 0);
    Store(edge.done, 0);
    Store(edge.states, 0);
    Store(edge.changes, 0);
    Store(edge.flags, kEdgeUsed);
  }
  // Two threads on one proxy: NCCL does not do it, and the second slot must not leak.
  if (!Swap(proxy.edge, 0, slot + 1)) {
    Store(edge.flags, 0);
    edge_pool_.Give(slot);
    return &board_->edges[Load(proxy.edge) - 1];
  }
  return &edge;
}

void Writer::CountStep(const ProxyState& proxy) {
  if (Load(proxy.receives) != 0)
    Add(LineOf(Load(operations_[Load(proxy.operation)].comm)).progress, 1);
}

void Writer::ProgressProxy(ProxyRef ref) {
  if (ProxyState* proxy = Find(ref); proxy != nullptr && Load(proxy->stopped) == 0)
    EdgeOf(*proxy, /*must=*/true);
}

bool Writer::StartStep(ProxyRef ref, uint32_t step) {
  ProxyState* proxy = Find(ref);
  if (proxy == nullptr || Load(proxy->stopped) != 0) return false;
  Edge* edge = EdgeOf(*proxy, /*must=*/true);
  if (edge == nullptr) return true;
  const uint32_t started = Load(edge->started);
  // A receive step is started again on every spin until the network takes it.
  if (step < started || step >= Load(edge->steps)) return true;
  {
    Change<Edge> change(*edge);
    const uint32_t done = Load(edge->done);
    uint32_t states = Load(edge->states);
    if (Load(proxy->stops_missing) != 0 && Load(proxy->receives) != 0) {
      uint32_t arrived = done;
      while (arrived != started && StateOf(states, arrived) == kRecvLast) ++arrived;
      if (arrived != done) Advance(*edge, arrived);
    }
    // Steps pass in order and at most kStepsOpen at once: what is further back has finished.
    if (step - Load(edge->done) >= kStepsOpen) Advance(*edge, step - kStepsOpen + 1);
    states = Load(edge->states);
    for (uint32_t s = step; s != started && s != Load(edge->done);)
      states = WithState(states, --s, kPosted);
    Store(edge->states, WithState(states, step, kPosted));
    Store(edge->started, step + 1);
    Store(edge->changes, Load(edge->changes) + 1);
  }
  CountStep(*proxy);
  return true;
}

void Writer::ChangeStep(ProxyRef ref, uint32_t low, uint8_t state) {
  ProxyState* proxy = Find(ref);
  if (proxy == nullptr) return;
  const bool receives = Load(proxy->receives) != 0;
  if (state < (receives ? kRecvFirst : kSendFirst) || state > (receives ? kRecvLast : kSendLast))
    return;
  const uint32_t held = LoadAcquire(proxy->edge);
  if (held == 0) return;
  Edge& edge = board_->edges[held - 1];
  const uint32_t started = Load(edge.started);
  const uint32_t step = Widen(low, started);
  const uint32_t states = Load(edge.states);
  // Recorded after its stop, or again on a spin, or out of order: nothing has changed.
  if (static_cast<int32_t>(step - Load(edge.done)) < 0 ||
      static_cast<int32_t>(step - started) >= 0 || StateOf(states, step) >= state)
    return;
  {
    Change<Edge> change(edge);
    Store(edge.states, WithState(states, step, state));
    Store(edge.changes, Load(edge.changes) + 1);
  }
  CountStep(*proxy);
}

void Writer::StopStep(ProxyRef ref, uint32_t low) {
  ProxyState* proxy = Find(ref);
  if (proxy == nullptr) return;
  // Where stops are missing, those that come name the wrong step.
  if (Load(proxy->receives) != 0 && Load(proxy->stops_missing) != 0) return;
  const uint32_t held = LoadAcquire(proxy->edge);
  if (held == 0) return;
  Edge& edge = board_->edges[held - 1];
  const uint32_t started = Load(edge.started);
  const uint32_t step = Widen(low, started);
  if (static_cast<int32_t>(step - Load(edge.done)) < 0 || static_cast<int32_t>(step - started) >= 0)
    return;
  {
    Change<Edge> change(edge);
    Advance(edge, step + 1);
    Store(edge.changes, Load(edge.changes) + 1);
  }
  CountStep(*proxy);
}

void Writer::StopProxy(ProxyRef ref) {
  ProxyState* proxy = Find(ref);
  if (proxy == nullptr || Exchange(proxy->stopped, 1) != 0) return;
  const uint32_t operation = Load(proxy->operation);
  if (const uint32_t held = LoadAcquire(proxy->edge); held != 0) {
    Edge& edge = board_->edges[held - 1];
    if (Load(edge.done) != Load(edge.steps)) {
      {
        Change<Edge> change(edge);
        Store(edge.states, 0);
        Store(edge.started, Load(edge.steps));
        Store(edge.done, Load(edge.steps));
        Store(edge.changes, Load(edge.changes) + 1);
      }
      CountStep(*proxy);
    }
  }
  Add(board_->operations[operation].proxies_finished, 1);
  FinishIfDone(operation);
}

void Writer::ReleaseProxies(uint32_t operation) {
  uint32_t next = Exchange(operations_[operation].proxies, 0);
  while (next != 0) {
    const uint32_t slot = next - 1;
    ProxyState& proxy = proxies_[slot];
    next = Load(proxy.next);
    Add(proxy.generation, 1);
    if (const uint32_t held = Exchange(proxy.edge, 0); held != 0) {
      Edge& edge = board_->edges[held - 1];
      {
        Change<Edge> change(edge);
        Store(edge.flags, 0);
      }
      edge_pool_.Give(held - 1);
    }
    proxy_pool_.Give(slot);
  }
}

}  // namespace sentinel::board
