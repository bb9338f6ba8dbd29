// The board's beginning, and communicators: opened, named and closed.
#include "board/writer_refs.h"

namespace sentinel::board {
namespace {

void CopyText(char* to, uint32_t size, const char* from) {
  uint32_t i = 0;
  for (; from != nullptr && from[i] != '\0' && i + 1 < size; ++i) Store(to[i], from[i]);
  for (; i < size; ++i) Store(to[i], '\0');
}

}  // namespace

void Writer::Start(void* memory, const BoardIdentity& identity) {
  auto* fresh = static_cast<Board*>(memory);
  Header& header = fresh->header;
  header.format = kFormat;
  header.flags = (identity.kernels_watched ? kKernelsWatched : 0u) |
                 (identity.proxies_watched ? kProxiesWatched : 0u) |
                 (identity.calls_watched ? kCallsWatched : 0u);
  header.size = kBytes;
  header.pid = identity.pid;
  header.start_ticks = identity.start_ticks;
  header.generation = identity.generation;
  header.nccl_version = identity.nccl_version;
  header.abi = identity.abi;
  header.mask = identity.mask;
  header.comms = kComms;
  header.operations = kOperations;
  header.edges = kEdges;
  Store(kernels_watched_, identity.kernels_watched ? 1 : 0);
  Store(calls_watched_, identity.calls_watched ? 1 : 0);
  Store(comms_used_, 0);
  __atomic_store_n(&board_, fresh, __ATOMIC_RELEASE);
  StoreRelease(header.magic, kMagic);
}

uint64_t Writer::dropped() const { return board_ == nullptr ? 0 : Load(board_->header.dropped); }

// Slots never used before come first, so that a finalized communicator stays readable for as long
// as there is room.
uint32_t Writer::ChooseComm() {
  const uint32_t used = Load(comms_used_);
  for (uint32_t i = used; i < kComms; ++i) {
    const uint32_t generation = Load(comms_[i].generation);
    if ((generation & 1) == 0 && Swap(comms_[i].generation, generation, generation + 1)) {
      uint32_t seen = Load(comms_used_);
      while (seen < i + 1 && !Swap(comms_used_, seen, i + 1)) seen = Load(comms_used_);
      return i;
    }
  }
  for (uint32_t i = 0; i < kComms; ++i) {
    const uint32_t generation = Load(comms_[i].generation);
    if ((generation & 1) == 0 && Swap(comms_[i].generation, generation, generation + 1)) return i;
  }
  return kComms;
}

CommRef Writer::OpenComm(const CommIdentity& identity) {
  const uint32_t slot = ChooseComm();
  if (slot == kComms) {
    Drop();
    return {};
  }
  CommState& state = comms_[slot];
  const uint32_t generation = Load(state.generation);
  Store(state.calls, 0);
  Store(state.collectives, 0);
  Store(state.order_sum, 0);
  // Serials go on where the communicator before stopped: its entries in `order` stay invalid.
  if (Load(state.tail) == 0) Store(state.tail, 1);
  Store(state.head, Load(state.tail));
  Store(state.oldest, Load(state.tail));
  Line& line = LineOf(slot);
  Store(line.flags, 0);
  Store(line.progress, 0);
  Store(line.operations_started, 0);
  Store(line.operations_finished, 0);
  Store(line.open, 0);
  Store(line.api_calls, 0);
  Store(line.api_calls_open, 0);
  Store(line.collectives, 0);
  for (uint64_t& mark : line.marks) Store(mark, 0);
  Store(board_->comms[slot].lost_index, 0);
  Store(state.named, 0);
  CommIdentity named = identity;
  if (named.pci == nullptr) named.pci = "";  // not that of the communicator before
  Identify(slot, named);
  StoreRelease(line.generation, generation);
  StoreRelease(line.flags, kLineLive);
  return {slot, generation};
}

void Writer::NameCommOnce(CommRef ref, const CommIdentity& identity) {
  if (Valid(ref) && Load(comms_[ref.slot].named) == 0 && Exchange(comms_[ref.slot].named, 1) == 0)
    Identify(ref.slot, identity);
}

void Writer::Identify(uint32_t slot, const CommIdentity& identity) {
  Comm& comm = board_->comms[slot];
  Change<Comm> change(comm);
  Store(comm.generation, Load(comms_[slot].generation));
  Store(comm.comm_id, identity.comm_id);
  Store(comm.nranks, identity.nranks);
  Store(comm.nodes, identity.nodes);
  Store(comm.rank, identity.rank);
  CopyText(comm.name, kNameBytes, identity.name);
  if (identity.pci != nullptr) CopyText(comm.pci, kPciBytes, identity.pci);
}

bool Writer::CloseComm(CommRef ref) {
  if (!Valid(ref)) return false;
  CommState& state = comms_[ref.slot];
  const uint32_t generation = Load(state.generation);
  StoreRelease(LineOf(ref.slot).flags, kLineFinalized);
  // A proxy thread that serves several communicators may still be writing to operations of this
  // one. They go one by one, and its references go with them.
  FreeAll(ref.slot);
  Store(LineOf(ref.slot).open, 0);
  if (!Swap(state.generation, generation, generation + 1)) return false;
  FreeAll(ref.slot);  // what was claimed meanwhile
  return true;
}

}  // namespace sentinel::board
