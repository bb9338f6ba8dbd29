#include "board/writer.h"

#include "board/writer_refs.h"

namespace sentinel::board {
namespace {

uint64_t Bytes(uint64_t count, uint8_t datatype) {
  // By DataType's numbers (model/progress.h).
  constexpr uint8_t kSizes[] = {1, 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return datatype < sizeof(kSizes) ? count * kSizes[datatype] : count;
}

uint32_t FloorLog2(uint64_t value) {
  return value == 0 ? 0 : 63u - static_cast<uint32_t>(__builtin_clzll(value));
}

// Plans are counted modulo the bits that a handle carries.
bool IsEarlier(uint32_t plan, uint32_t than) {
  constexpr int kShift = __builtin_clz(kGenerationMask);
  return static_cast<int32_t>((plan - than) << kShift) < 0;
}

// Collectives that every rank of a communicator calls alike: one bit for each of Func's numbers
// (AllGather, AllReduce, Broadcast, Reduce, ReduceScatter). The others are made of sends and
// receives, or have another count on each rank.
constexpr uint32_t kOrderedFuncs = 1u << 1 | 1u << 3 | 1u << 5 | 1u << 9 | 1u << 10;

// What one call adds to the sum. Its number goes in, so that two calls changed over make another
// sum; and sums can be subtracted, so that any two marks tell of the calls between them.
uint64_t OrderTerm(uint64_t number, const CallInfo& info) {
  const uint64_t kind =
      uint64_t{info.func} << 40 | uint64_t{info.datatype} << 32 | static_cast<uint32_t>(info.root);
  uint64_t term = (number ^ kind << 17) * 0x9e3779b97f4a7c15u;
  term = (term ^ term >> 29 ^ kind) * 0xbf58476d1ce4e5b9u;
  term = (term ^ term >> 32 ^ info.count) * 0x94d049bb133111ebu;
  return term ^ term >> 31;
}

constexpr uint8_t kFuncRecv = 8;
constexpr uint8_t kFuncSend = 12;
constexpr uint32_t kPairProbesMax = 16;
constexpr uint32_t kPairGenerationMask = 0xffffff;

constexpr uint32_t kOrderMask = Writer::kOperationsMax - 1;
static_assert((Writer::kOperationsMax & kOrderMask) == 0 && kOperations <= 1u << 12);
// Claims that may be under way at once beside the one that looks at the bound.
constexpr uint64_t kClaimSlack = 64;
// How far one callback walks along a communicator's operations; what is left is for the next.
constexpr uint32_t kWalkMax = 64;
constexpr uint32_t kReclaimMax = 4;

}  // namespace

bool Writer::Valid(OperationRef ref) const {
  return ref.slot < kOperations &&
         Same(LoadAcquire(operations_[ref.slot].generation), ref.generation);
}

CallRef Writer::EnterCall(CommRef ref) {
  if (!Valid(ref)) return {};
  Line& line = LineOf(ref.slot);
  Add(line.api_calls, 1);
  const uint32_t slot = call_pool_.Take();
  if (slot == Pool<kCallsMax>::kNone) {
    Drop();
    return {};
  }
  CallState& call = calls_[slot];
  Store(call.comm, ref.slot);
  Store(call.comm_generation, Load(comms_[ref.slot].generation));
  const uint32_t generation = Load(call.generation) + 1;
  StoreRelease(call.generation, generation);
  Add(line.api_calls_open, 1);
  return {slot, generation & kGenerationMask};
}

bool Writer::Closed(CallRef group) const {
  return group.slot >= kCallsMax ||
         !Same(LoadAcquire(calls_[group.slot].generation), group.generation);
}

// Its call returned, and nothing has been enqueued for it.
bool Writer::Abandoned(uint32_t slot) const {
  const CallRef& group = operations_[slot].group;
  return Closed({Load(group.slot), Load(group.generation)});
}

void Writer::LeaveCall(CallRef ref) {
  if (ref.slot >= kCallsMax) return;
  CallState& call = calls_[ref.slot];
  const uint32_t generation = LoadAcquire(call.generation);
  if (!Same(generation, ref.generation)) return;
  const uint32_t comm = Load(call.comm);
  const uint32_t comm_generation = Load(call.comm_generation);
  if (!Swap(call.generation, generation, generation + 1)) return;
  call_pool_.Give(ref.slot);
  // After a finalize the count belongs to whoever has the slot now.
  if (Load(comms_[comm].generation) == comm_generation) Add(LineOf(comm).api_calls_open, -1);
}

OperationRef Writer::Claim(uint32_t comm, CallRef group, const CallInfo& info) {
  CommState& state = comms_[comm];
  for (uint32_t i = 0; i < kReclaimMax; ++i) {
    if (Load(state.tail) - Load(state.head) < kOperationsKept || !ReclaimOldest(comm)) break;
  }
  if (Load(state.tail) - Load(state.head) >= kOperationsMax - kClaimSlack) return {};
  const uint32_t slot = operation_pool_.Take();
  if (slot == Pool<kOperations>::kNone) return {};
  OperationState& operation = operations_[slot];
  const uint32_t generation = Load(operation.generation) + 1;
  const uint64_t serial = Add(state.tail, 1);
  Store(operation.comm, comm);
  Store(operation.serial, serial);
  Store(operation.group.slot, group.slot);
  Store(operation.group.generation, group.generation);
  Store(operation.plan, 0);
  Store(operation.proxies, 0);
  Operation& shown = board_->operations[slot];
  {
    Change<Operation> change(shown);
    Store(shown.kernels_started, 0);
    Store(shown.kernels_completed, 0);
    Store(shown.proxies_started, 0);
    Store(shown.proxies_finished, 0);
    Store(shown.generation, generation);
    Store(shown.comm_generation, Load(state.generation));
    Store(shown.comm, comm);
    Store(shown.flags, info.graph ? kGraph : 0u);
    Store(shown.func, info.func);
    Store(shown.datatype, info.datatype);
    Store(shown.count, info.count);
    Store(shown.root, info.root);
    Store(shown.seq, 0);
    Store(shown.tsc, 0);
    Store(shown.peer, -1);
    Store(shown.algorithm, 0);
    Store(shown.protocol, 0);
    Store(shown.channels, 0);
    Store(shown.call_index, Add(state.calls, 1));
    // Where it will be put when it is enqueued next; certain only then.
    Store(shown.index, Load(LineOf(comm).operations_started));
  }
  // From here until its status changes it is freed by nobody but the communicator's end.
  StoreRelease(shown.status, kChanging);
  StoreRelease(operation.generation, generation);
  StoreRelease(state.order[serial & kOrderMask], serial << 12 | slot);
  return {slot, generation & kGenerationMask};
}

bool Writer::ReclaimOldest(uint32_t comm) {
  CommState& state = comms_[comm];
  const uint64_t head = Load(state.head);
  const uint64_t entry = LoadAcquire(state.order[head & kOrderMask]);
  if (entry >> 12 != head) return false;
  const uint32_t slot = entry & 0xfff;
  const uint32_t status = LoadAcquire(board_->operations[slot].status);
  if (status != kFinished && !(status == kCalled && Abandoned(slot))) return false;
  // Whoever changes the status frees it.
  if (!Swap(board_->operations[slot].status, status, kFree)) return false;
  StoreRelease(state.head, head + 1);
  Free(slot);
  return true;
}

void Writer::Free(uint32_t slot) {
  ReleaseProxies(slot);
  // By whoever changed the status to free, and by nobody else.
  StoreRelease(operations_[slot].generation, Load(operations_[slot].generation) + 1);
  operation_pool_.Give(slot);
}

void Writer::FreeAll(uint32_t comm) {
  CommState& state = comms_[comm];
  const uint64_t tail = Load(state.tail);
  for (uint64_t serial = Load(state.head); serial < tail; ++serial) {
    const uint64_t entry = LoadAcquire(state.order[serial & kOrderMask]);
    if (entry >> 12 != serial) continue;
    const uint32_t slot = entry & 0xfff;
    if (Exchange(board_->operations[slot].status, kFree) != kFree) Free(slot);
  }
  Store(state.head, tail);
}

// NCCL wants the calls of one communicator to come from one thread at a time, so plain words do.
void Writer::CountCall(uint32_t comm, const CallInfo& info) {
  if (info.func >= 32 || (kOrderedFuncs >> info.func & 1) == 0) return;
  CommState& state = comms_[comm];
  const uint64_t number = Load(state.collectives) + 1;
  const uint64_t sum = Load(state.order_sum) + OrderTerm(number, info);
  Store(state.collectives, number);
  Store(state.order_sum, sum);
  Line& line = LineOf(comm);
  Store(line.collectives, number);
  const uint64_t mark = sum << kMarkCallsBits | (number & ((1u << kMarkCallsBits) - 1));
  for (uint32_t i = 0; i < kMarks && (number & ((1u << kMarkShift * i) - 1)) == 0; ++i)
    Store(line.marks[i], mark);
}

// The number of a Send among those to its peer, of a Recv among those from it, from 1: NCCL pairs
// them by it and tells none. 0 for anything else and where there is no room.
uint64_t Writer::CountPair(uint32_t comm, const OperationInfo& info) {
  const bool sends = info.call.func == kFuncSend;
  if ((!sends && info.call.func != kFuncRecv) || info.peer < 0) return 0;
  const uint32_t generation = Load(comms_[comm].generation) & kPairGenerationMask;
  const uint64_t key = static_cast<uint64_t>(static_cast<uint32_t>(info.peer)) << 32 |
                       static_cast<uint64_t>(generation) << 8 | comm << 2 | (sends ? 2u : 0u) | 1u;
  const uint32_t first = static_cast<uint32_t>(key * 0x9e3779b97f4a7c15u >> 40);
  for (uint32_t i = 0; i < kPairProbesMax; ++i) {
    PairState& pair = pairs_[(first + i) % kPairs];
    uint64_t found = LoadAcquire(pair.key);
    const uint32_t holder = static_cast<uint32_t>(found >> 2 & (kComms - 1));
    const bool stale = found != 0 && (found >> 8 & kPairGenerationMask) !=
                                         (Load(comms_[holder].generation) & kPairGenerationMask);
    if ((found == 0 || stale) && Swap(pair.key, found, key)) {
      Store(pair.calls, 0);
      found = key;
    }
    if (found == key) return Add(pair.calls, 1) + 1;
  }
  Drop();
  return 0;
}

OperationRef Writer::Call(CommRef comm, CallRef group, const CallInfo& info) {
  if (!Valid(comm)) return {};
  if (Load(calls_watched_) != 0) CountCall(comm.slot, info);
  const OperationRef operation = Claim(comm.slot, group, info);
  if (!Valid(operation)) {
    Drop();
    return {};
  }
  Swap(board_->operations[operation.slot].status, kChanging, kCalled);
  return operation;
}

OperationRef Writer::Enqueue(CommRef comm, OperationRef call, const OperationInfo& info) {
  if (!Valid(comm)) return {};
  if (Load(calls_watched_) == 0) CountCall(comm.slot, info.call);
  const uint64_t seq = info.peer < 0 ? info.seq : CountPair(comm.slot, info);
  Line& line = LineOf(comm.slot);
  // Only the first enqueueing after a call is that call's; a graph names the captured one each
  // time.
  const bool called = Valid(call) && Load(operations_[call.slot].comm) == comm.slot &&
                      Swap(board_->operations[call.slot].status, kCalled, kChanging);
  const OperationRef operation = called ? call : Claim(comm.slot, {}, info.call);
  const uint64_t index = Add(line.operations_started, 1);
  if (!Valid(operation)) {
    // Nobody will hear when it finishes, so that it must not count as open.
    Drop();
    Store(board_->comms[comm.slot].lost_index, index + 1);
    Add(line.operations_finished, 1);
    return {};
  }
  const uint32_t slot = operation.slot;
  Operation& shown = board_->operations[slot];
  // Without kernels nothing tells whether an operation that uses no proxy has finished. It counts
  // as finished until one shows up: a false stall is worse than a late one.
  const bool blind = info.unseen || Load(kernels_watched_) == 0;
  {
    Change<Operation> change(shown);
    Store(shown.index, index);
    Store(shown.seq, seq);
    Store(shown.peer, info.peer);
    Store(shown.algorithm, info.algorithm);
    Store(shown.protocol, info.protocol);
    Store(shown.channels, info.channels);
    Store(shown.tsc, info.tsc);
    if (blind) Or(shown.flags, kBlind);
  }
  Store(operations_[slot].plan, info.plan);
  if (blind) Add(line.operations_finished, 1);
  Swap(shown.status, kChanging, blind ? kFinished : kOpen);
  RefreshOpen(comm.slot);
  return operation;
}

void Writer::StartKernel(OperationRef ref, uint32_t channel) {
  if (!Valid(ref) || channel >= kChannels) return;
  const uint64_t bit = uint64_t{1} << channel;
  if ((Or(board_->operations[ref.slot].kernels_started, bit) & bit) != 0) return;
  Add(LineOf(Load(operations_[ref.slot].comm)).progress, 1);
  Reopen(ref.slot);
}

void Writer::CompleteKernel(OperationRef ref, uint32_t channel) {
  if (!Valid(ref) || channel >= kChannels) return;
  const uint64_t bit = uint64_t{1} << channel;
  if ((Or(board_->operations[ref.slot].kernels_completed, bit) & bit) != 0) return;
  Add(LineOf(Load(operations_[ref.slot].comm)).progress, 1);
  FinishIfDone(ref.slot);
}

void Writer::FinishIfDone(uint32_t slot) {
  Operation& shown = board_->operations[slot];
  const uint32_t finished = Load(shown.proxies_finished);
  const uint64_t completed = LoadAcquire(shown.kernels_completed);
  if (finished != LoadAcquire(shown.proxies_started) ||
      (LoadAcquire(shown.kernels_started) & ~completed) != 0)
    return;
  if ((Load(shown.flags) & kBlind) != 0) {
    if (finished == 0 && completed == 0) return;
  } else if (completed == 0 ||
             static_cast<uint32_t>(__builtin_popcountll(completed)) < Load(shown.channels)) {
    return;
  }
  const bool news = Finish(slot);
  // Here, where its last event has come, and not in Finish: FinishOlder may judge by what it saw a
  // moment before a proxy of the operation started.
  ReleaseProxies(slot);
  if (!news) return;
  FinishOlder(slot);
  RefreshOpen(Load(operations_[slot].comm));
}

bool Writer::Finish(uint32_t slot) {
  if (!Swap(board_->operations[slot].status, kOpen, kFinished)) return false;
  Line& line = LineOf(Load(operations_[slot].comm));
  Add(line.operations_finished, 1);
  Add(line.progress, 1);
  return true;
}

// NCCL runs the launches of one communicator one after the other: the kernels of an
// earlier launch than that of a finished operation have finished too, whatever we missed of them.
void Writer::FinishOlder(uint32_t slot) {
  const OperationState& later = operations_[slot];
  const uint32_t plan = Load(later.plan);
  if (plan == 0) return;
  CommState& state = comms_[Load(later.comm)];
  uint64_t serial = Load(state.oldest) > Load(state.head) ? Load(state.oldest) : Load(state.head);
  for (uint32_t i = 0; i < kWalkMax && serial < Load(later.serial); ++i, ++serial) {
    const uint64_t entry = LoadAcquire(state.order[serial & kOrderMask]);
    if (entry >> 12 != serial) continue;
    const uint32_t earlier = Load(operations_[entry & 0xfff].plan);
    const Operation& shown = board_->operations[entry & 0xfff];
    // A proxy still at work is news: its network may be what stands still.
    if (earlier != 0 && IsEarlier(earlier, plan) &&
        Load(shown.proxies_started) == Load(shown.proxies_finished))
      Finish(entry & 0xfff);
  }
}

void Writer::Reopen(uint32_t slot) {
  if (!Swap(board_->operations[slot].status, kFinished, kOpen)) return;
  const uint32_t comm = Load(operations_[slot].comm);
  Add(LineOf(comm).operations_finished, -1);
  CommState& state = comms_[comm];
  const uint64_t serial = Load(operations_[slot].serial);
  uint64_t oldest = Load(state.oldest);
  while (oldest > serial && !Swap(state.oldest, oldest, serial)) oldest = Load(state.oldest);
  RefreshOpen(comm);
}

int32_t Writer::OldestOpen(uint32_t comm) {
  CommState& state = comms_[comm];
  uint64_t serial = Load(state.oldest);
  if (const uint64_t head = Load(state.head); serial < head) {
    Swap(state.oldest, serial, head);
    serial = head;
  }
  bool passed_all = true;  // everything before `serial` is settled for good
  for (uint32_t i = 0; i < kWalkMax && serial < Load(state.tail); ++i, ++serial) {
    const uint64_t entry = LoadAcquire(state.order[serial & kOrderMask]);
    if (entry >> 12 != serial) {
      passed_all = false;
      continue;
    }
    const uint32_t slot = entry & 0xfff;
    const uint32_t status = LoadAcquire(board_->operations[slot].status);
    if (status == kOpen) return static_cast<int32_t>(slot);
    if (status != kFinished && !(status == kCalled && Abandoned(slot))) passed_all = false;
    if (passed_all) Swap(state.oldest, serial, serial + 1);
  }
  return -1;
}

// Two threads may come to this at once; each looks again after it has written.
void Writer::RefreshOpen(uint32_t comm) {
  Line& line = LineOf(comm);
  for (int i = 0; i < 3; ++i) {
    const int32_t slot = OldestOpen(comm);
    uint64_t open = 0;
    if (slot >= 0) {
      const Operation& shown = board_->operations[slot];
      open = kOpenValid | FloorLog2(Bytes(Load(shown.count), Load(shown.datatype))) << 8 |
             Load(shown.func);
    }
    if (Exchange(line.open, open) == open && i > 0) return;
  }
}

}  // namespace sentinel::board
