#include "session.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "board_file.h"
#include "loaded.h"
#include "mask.h"
#include "tsc.h"

namespace sentinel::nccl {
namespace {

struct Session {
  pthread_mutex_t mutex;
  bool started;  // pid, tag and gate are set
  bool off;      // for good
  bool forked;   // a child's copy
  bool on_board;
  bool said;  // what is wrong with the environment
  int open;   // communicators that have a line
  uint64_t mask;
  BoardFile file;
  int64_t pid;
  uint64_t start_ticks;
  uint64_t tag;
  uint32_t plan;
};

Session session = {
    PTHREAD_MUTEX_INITIALIZER, false, false, false, false, false, 0, 0, {}, 0, 0, 0, 0};
board::Writer writer;

// Callbacks look at this word and nothing else to learn that they are in a forked child, which
// must not write to its parent's board. It lies in a page that the kernel empties in a child, and a
// fork handler does the same where the kernel does not know how.
uint32_t closed_gate = 0;
uint32_t* gate = &closed_gate;

void InChild() {
  __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
  session.forked = true;
  // Whoever held it did not come along.
  session.mutex = PTHREAD_MUTEX_INITIALIZER;
}

void MakeGate() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;  // stays closed
#ifdef MADV_WIPEONFORK
  madvise(page, 4096, MADV_WIPEONFORK);
#endif
  if (pthread_atfork(nullptr, nullptr, InChild) != 0) return;
  __atomic_store_n(&gate, static_cast<uint32_t*>(page), __ATOMIC_RELEASE);
}

// Not a secret: two boards, or two processes on a node, are unlikely to share it.
uint64_t Mixed(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  return x ^ x >> 31;
}

uint32_t NcclVersion(const Logger logger) {
  if (logger == nullptr) return 0;
  using GetVersion = int (*)(int*);
  const auto get = reinterpret_cast<GetVersion>(
      FunctionBeside(reinterpret_cast<const void*>(logger), "ncclGetVersion"));
  int version = 0;
  if (get == nullptr || get(&version) != 0 || version < 0) return 0;
  return static_cast<uint32_t>(version);
}

void TurnOff(const Logger logger, const char* what, const char* path, int error) {
  session.off = true;
  if (logger == nullptr) return;
  logger(kLogWarn, kLogInit, "sentinel", 0,
         "gpu-sentinel: no progress board (cannot %s %s: errno %d); this process is not watched",
         what, path, error);
}

// What is wrong with the environment, once: boards come and go, and it stays as it is.
void Say(const Logger logger, const char* name, const char* value, const char* taken,
         const char* accepted) {
  if (logger == nullptr || session.said) return;
  logger(kLogWarn, kLogInit, "sentinel", 0,
         "gpu-sentinel: %s=%.32s is not understood, taking %s; accepted: %s", name, value, taken,
         accepted);
}

void StartSession() {
  session.started = true;
  session.pid = getpid();
  session.start_ticks = OwnStartTicks();
  session.tag = 1 + Mixed(static_cast<uint64_t>(session.pid) ^ session.start_ticks << 24) % 254;
  MakeGate();
}

// One board for all communicators of the process at a time.
bool MakeBoard(const CommArguments& arguments) {
  // NCCL reads its own settings the same way at this point.
  const char* directory = getenv("SENTINEL_BOARD_DIR");
  const bool named = directory != nullptr && directory[0] != '\0';
  // No agent looks for a board below wherever this process happens to stand.
  const bool usable = named && directory[0] == '/';
  if (named && !usable)
    Say(arguments.logger, "SENTINEL_BOARD_DIR", directory, "/dev/shm", "an absolute path");
  if (!usable) directory = "/dev/shm";
  const uint32_t version = NcclVersion(arguments.logger);
  const char* setting = getenv("SENTINEL_NCCL_MASK");
  const MaskChoice choice = ChooseMask(setting, arguments.abi, version);
  if (!choice.understood)
    Say(arguments.logger, "SENTINEL_NCCL_MASK", setting, "full",
        "full, light, off, none, a decimal or 0x number of known event types (0: off)");
  session.said = true;
  if (choice.mask == 0) {
    session.off = true;
    return false;
  }
  if (!CreateBoardFile(directory, session.pid, session.start_ticks, &session.file)) {
    TurnOff(arguments.logger, session.file.failed, session.file.path, session.file.error);
    return false;
  }
  board::BoardIdentity identity;
  identity.pid = session.pid;
  identity.start_ticks = session.start_ticks;
  identity.generation = Mixed(Tsc() ^ static_cast<uint64_t>(session.pid) << 40) | 1;
  identity.nccl_version = version;
  identity.abi = static_cast<uint32_t>(arguments.abi);
  identity.mask = static_cast<uint32_t>(choice.mask);
  identity.kernels_watched = (choice.mask & kKernelCh) != 0;
  identity.proxies_watched = (choice.mask & kProxyOp) != 0 && (choice.mask & kProxyStep) != 0;
  identity.calls_watched = (choice.mask & kCollApi) != 0;
  session.mask = choice.mask;
  writer.Start(session.file.memory, identity);
  session.on_board = true;
  if (gate != &closed_gate) __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
  return true;
}

// The mapping stays: callbacks that come late write to a file that has no name any more.
void RemoveBoard() {
  session.on_board = false;
  RemoveBoardFile(&session.file);
}

// A process that ends by returning from main leaves no file. One that is killed leaves its board:
// that is the evidence.
__attribute__((destructor)) void AtExit() {
  if (session.on_board && !session.forked && session.pid == getpid()) unlink(session.file.path);
}

}  // namespace

void Open(const CommArguments& arguments, void** context, int* mask) {
  if (context == nullptr || mask == nullptr) return;
  pthread_mutex_lock(&session.mutex);
  if (!session.started) StartSession();
  *context = Pack(session.tag, Kind::kIgnored, 0, 0);
  *mask = 0;
  // A child that was forked without its handlers having run is found out here at the latest.
  if (session.forked || session.pid != getpid()) session.off = true;
  if (!session.off && (session.on_board || MakeBoard(arguments))) {
    *mask = static_cast<int>(session.mask);
    char pci[board::kPciBytes];
    CurrentGpuPci(pci, sizeof(pci));
    board::CommIdentity identity;
    identity.comm_id = arguments.comm_id;
    identity.nranks = arguments.nranks;
    identity.nodes = arguments.nodes;
    identity.rank = arguments.rank;
    identity.name = arguments.name;
    identity.pci = pci;
    const board::CommRef comm = writer.OpenComm(identity);
    if (comm.generation != 0) {
      ++session.open;
      *context = Pack(session.tag, Kind::kContext, comm.slot, comm.generation);
    }
  }
  pthread_mutex_unlock(&session.mutex);
}

void Close(void* context) {
  const Handle handle = Unpack(session.tag, context);
  if (handle.kind != Kind::kContext || Watching() == nullptr) return;
  pthread_mutex_lock(&session.mutex);
  if (writer.CloseComm({handle.slot, handle.generation}) && --session.open == 0) RemoveBoard();
  pthread_mutex_unlock(&session.mutex);
}

board::Writer* Watching() {
  const uint32_t* word = __atomic_load_n(&gate, __ATOMIC_ACQUIRE);
  return __atomic_load_n(word, __ATOMIC_ACQUIRE) != 0 ? &writer : nullptr;
}

uint64_t Tag() { return session.tag; }
int64_t OwnPid() { return session.pid; }
uint32_t NextPlan() { return __atomic_add_fetch(&session.plan, 1, __ATOMIC_RELAXED); }

}  // namespace sentinel::nccl
