// A profiler plugin for tests that writes a recording of what it is called with, in the form of
// docs/formats/recording.md: $RECORDING_DIR/rank$RANK.jsonl. It reads descriptors by their offsets
// (interface v5), so that it shares no declaration with its caller.
#include <pthread.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <unordered_map>

namespace {

constexpr int kAllOfV5 = 0xfff;
constexpr int kBody = 24;

std::mutex mutex;
std::FILE* file = nullptr;
uint64_t last_id = 0;
int inits = 0;
std::unordered_map<uint64_t, const char*> types;  // by id, as long as the process lives

template <typename T>
T At(const void* base, int offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + offset, sizeof value);
  return value;
}

const char* TypeName(uint64_t type) {
  static constexpr const char* kNames[] = {"Group",     "Coll",      "P2p",      "ProxyOp",
                                           "ProxyStep", "ProxyCtrl", "KernelCh", "NetPlugin",
                                           "GroupApi",  "CollApi",   "P2pApi",   "KernelLaunch"};
  for (int bit = 0; bit < 12; ++bit) {
    if (type == uint64_t{1} << bit) return kNames[bit];
  }
  return "?";
}

struct State {
  const char* name;
  const char* argument;  // its key
};
State StateOf(int state) {
  static constexpr State kStates[] = {
      {"SendGPUWait", "transSize"},   {"SendWait", "transSize"},     {"RecvWait", "transSize"},
      {"RecvFlushWait", "transSize"}, {"RecvGPUWait", "transSize"},  {"CtrlIdle", "appended"},
      {"CtrlActive", "appended"},     {"CtrlSleep", "appended"},     {"CtrlWakeup", "appended"},
      {"CtrlAppend", "appended"},     {"CtrlAppendEnd", "appended"}, {"OpInProgress", nullptr},
      {"SendPeerWait", "transSize"},  {"NetPluginUpdate", nullptr},  {"KernelChStop", "pTimer"},
      {"GroupStartApiStop", nullptr}, {"GroupEndApiStart", nullptr}};
  return kStates[state - 8];
}

// One line; `more` begins with a comma or is empty. The lock is held.
void Line(const char* op, const std::string& more) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  char thread[16] = "";
  pthread_getname_np(pthread_self(), thread, sizeof thread);
  std::fprintf(file, "{\"t\":%" PRId64 ",\"tid\":%d,\"thr\":\"%s\",\"op\":\"%s\"%s}\n",
               static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec, gettid(), thread, op,
               more.c_str());
  std::fflush(file);
}

std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string Format(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

uint64_t Number(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

std::string Describe(uint64_t type, const void* d) {
  switch (type) {
    case 0x2:
      return Format(
          ",\"seq\":%" PRIu64 ",\"func\":\"%s\",\"count\":%" PRIu64
          ",\"root\":%d,\"dtype\":\"%s\",\"nChannels\":%d,\"nWarps\":%d,\"algo\":\"%s\",\"proto\":"
          "\"%s\",\"group\":%" PRIu64,
          At<uint64_t>(d, 24), At<const char*>(d, 32), At<uint64_t>(d, 56), At<int>(d, 64),
          At<const char*>(d, 72), At<uint8_t>(d, 80), At<uint8_t>(d, 81), At<const char*>(d, 88),
          At<const char*>(d, 96), Number(At<void*>(d, 104)));
    case 0x4:
      return Format(",\"func\":\"%s\",\"dtype\":\"%s\",\"count\":%" PRIu64
                    ",\"peer\":%d,\"nChannels\":%d,\"group\":%" PRIu64,
                    At<const char*>(d, 24), At<const char*>(d, 40), At<uint64_t>(d, 48),
                    At<int>(d, 56), At<uint8_t>(d, 60), Number(At<void*>(d, 64)));
    case 0x8:
      return Format(
          ",\"pid\":%d,\"ch\":%d,\"peer\":%d,\"nSteps\":%d,\"chunkSize\":%d,\"isSend\":%d",
          At<int>(d, 24), At<uint8_t>(d, 28), At<int>(d, 32), At<int>(d, 36), At<int>(d, 40),
          At<int>(d, 44));
    case 0x10:
      return Format(",\"step\":%d", At<int>(d, kBody));
    case 0x40:
      return Format(",\"ch\":%d,\"pTimer\":%" PRIu64, At<uint8_t>(d, kBody), At<uint64_t>(d, 32));
    case 0x100:
      return Format(",\"graph\":%d,\"depth\":%d", At<bool>(d, 24) ? 1 : 0, At<int>(d, 28));
    case 0x200:
      return Format(",\"func\":\"%s\",\"count\":%" PRIu64 ",\"dtype\":\"%s\",\"root\":%d",
                    At<const char*>(d, 24), At<uint64_t>(d, 32), At<const char*>(d, 40),
                    At<int>(d, 48));
    case 0x400:
      return Format(",\"func\":\"%s\",\"count\":%" PRIu64 ",\"dtype\":\"%s\"",
                    At<const char*>(d, 24), At<uint64_t>(d, 32), At<const char*>(d, 40));
    default:
      return "";
  }
}

int Init(void** context, uint64_t id, int* mask, const char* name, int nodes, int ranks, int rank,
         void*) {
  const std::lock_guard lock(mutex);
  const char* folder = std::getenv("RECORDING_DIR");
  const char* process = std::getenv("RANK");
  if (file == nullptr && folder != nullptr && process != nullptr) {
    file = std::fopen((std::string(folder) + "/rank" + process + ".jsonl").c_str(), "w");
  }
  if (file == nullptr) return 2;
  *context = reinterpret_cast<void*>(static_cast<uintptr_t>(++inits));
  *mask = kAllOfV5;
  Line("init", Format(",\"rank\":%d,\"commId\":\"0x%016" PRIx64
                      "\",\"commName\":\"%s\",\"nNodes\":%d,\"nranks\":%d,\"pid\":%d,\"mask\":%d",
                      rank, id, name == nullptr ? "" : name, nodes, ranks, getpid(), *mask));
  return 0;
}

int Start(void*, void** handle, void* descriptor) {
  const std::lock_guard lock(mutex);
  const auto type = At<uint64_t>(descriptor, 0);
  types[++last_id] = TypeName(type);
  *handle = reinterpret_cast<void*>(static_cast<uintptr_t>(last_id));
  Line("start",
       Format(",\"id\":%" PRIu64 ",\"type\":\"%s\",\"parent\":%" PRIu64 ",\"drank\":%d", last_id,
              TypeName(type), Number(At<void*>(descriptor, 8)), At<int>(descriptor, 16)) +
           Describe(type, descriptor));
  return 0;
}

int Stop(void* handle) {
  const std::lock_guard lock(mutex);
  const uint64_t id = Number(handle);
  Line("stop", Format(",\"id\":%" PRIu64 ",\"type\":\"%s\"", id, types[id]));
  return 0;
}

int Record(void* handle, int state, void* arguments) {
  const std::lock_guard lock(mutex);
  const uint64_t id = Number(handle);
  const State named = StateOf(state);
  std::string more =
      Format(",\"id\":%" PRIu64 ",\"type\":\"%s\",\"state\":\"%s\"", id, types[id], named.name);
  if (named.argument != nullptr && arguments != nullptr) {
    const bool narrow = std::string(named.argument) == "appended";
    more += Format(",\"%s\":%" PRIu64, named.argument,
                   narrow ? At<uint32_t>(arguments, 0) : At<uint64_t>(arguments, 0));
  }
  Line("state", more);
  return 0;
}

int Finalize(void*) {
  const std::lock_guard lock(mutex);
  Line("finalize", "");
  return 0;
}

struct Table {
  const char* name;
  int (*init)(void**, uint64_t, int*, const char*, int, int, int, void*);
  int (*start)(void*, void**, void*);
  int (*stop)(void*);
  int (*state)(void*, int, void*);
  int (*finalize)(void*);
};

}  // namespace

extern "C" {
__attribute__((visibility("default"))) extern const Table ncclProfiler_v5;
const Table ncclProfiler_v5 = {"recording", &Init, &Start, &Stop, &Record, &Finalize};
}
