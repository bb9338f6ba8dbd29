// A profiler plugin for tests: writes down every call it gets, one line each, as far as the bytes
// tell. It reads descriptors by their offsets, so that it shares no declaration with the caller.
//
// FAKE_PROFILER_LOG names the file (".<RANK>" is appended where RANK is set), FAKE_PROFILER_MASK
// the mask it asks for, FAKE_PROFILER_NULL a mask of types for which it hands out no handle. Which
// versions it exports is chosen when it is compiled: FAKE_V2 … FAKE_V6.
#include <pthread.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::FILE* log_file = nullptr;
long next_handle = 0;

uint64_t EnvironmentMask(const char* name, uint64_t absent) {
  const char* text = std::getenv(name);
  return text == nullptr ? absent : std::strtoull(text, nullptr, 0);
}

void Write(const char* format, ...) __attribute__((format(printf, 1, 2)));
void Write(const char* format, ...) {
  if (log_file == nullptr) return;
  char thread[16] = "";
  pthread_getname_np(pthread_self(), thread, sizeof thread);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(log_file, format, arguments);
  va_end(arguments);
  std::fprintf(log_file, " thread=%s tid=%d\n", thread, gettid());
  std::fflush(log_file);
}

template <typename T>
T At(const void* base, int offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + offset, sizeof value);
  return value;
}

void Open() {
  const char* path = std::getenv("FAKE_PROFILER_LOG");
  const char* rank = std::getenv("RANK");
  if (log_file != nullptr) std::fclose(log_file);  // unloading is not promised
  log_file = nullptr;
  next_handle = 0;
  if (path == nullptr) return;
  log_file = std::fopen(
      (std::string(path) + (rank == nullptr ? "" : std::string(".") + rank)).c_str(), "w");
}

int Begin(void** context, int* mask) {
  *context = reinterpret_cast<void*>(0xc0);
  *mask = static_cast<int>(EnvironmentMask("FAKE_PROFILER_MASK", 0xfff));
  return 0;
}

const char* Text(const char* text) { return text == nullptr ? "-" : text; }

int StartEvent(int version, void* context, void** handle, void* descriptor) {
  const uint64_t type = version >= 5 ? At<uint64_t>(descriptor, 0) : At<uint8_t>(descriptor, 0);
  const bool silent = (EnvironmentMask("FAKE_PROFILER_NULL", 0) & type) != 0;
  *handle = silent ? nullptr : reinterpret_cast<void*>(++next_handle);
  const int body = 24;
  std::string more;
  char text[256];
  if (type == 0x2) {  // Coll
    const int seq = version <= 3 ? 40 : 24;
    const int channels = version == 2 ? 104 : version == 3 ? 96 : 80;
    std::snprintf(text, sizeof text, "seq=%lu func=%s count=%lu dtype=%s channels=%d proto=%s",
                  At<uint64_t>(descriptor, seq), Text(At<const char*>(descriptor, seq + 8)),
                  At<uint64_t>(descriptor, seq + 32), Text(At<const char*>(descriptor, seq + 48)),
                  At<uint8_t>(descriptor, channels),
                  Text(At<const char*>(descriptor, channels + 16)));
    more = text;
    if (version >= 5) {
      std::snprintf(text, sizeof text, " group=%ld", At<long>(descriptor, 104));
      more += text;
    }
  } else if (type == 0x8) {  // ProxyOp
    std::snprintf(text, sizeof text, "pid=%s channel=%d peer=%d steps=%d chunk=%d send=%d",
                  At<int>(descriptor, body) == getpid() ? "own" : "foreign",
                  At<uint8_t>(descriptor, 28), At<int>(descriptor, 32), At<int>(descriptor, 36),
                  At<int>(descriptor, 40), At<int>(descriptor, 44));
    more = text;
  } else if (type == 0x10) {  // ProxyStep
    more = "step=" + std::to_string(At<int>(descriptor, body));
  } else if (type == 0x40) {  // KernelCh
    more = "channel=" + std::to_string(At<uint8_t>(descriptor, body));
    if (version >= 4) more += " timer=" + std::to_string(At<uint64_t>(descriptor, 32));
  } else if (type == 0x200) {  // CollApi
    std::snprintf(text, sizeof text, "func=%s count=%lu", Text(At<const char*>(descriptor, 24)),
                  At<uint64_t>(descriptor, 32));
    more = text;
  }
  Write("start v%d type=%#lx handle=%ld parent=%ld rank=%d context=%p %s", version,
        static_cast<unsigned long>(type), reinterpret_cast<long>(*handle), At<long>(descriptor, 8),
        At<int>(descriptor, 16), context, more.c_str());
  return 0;
}

int StopEvent(void* handle) {
  Write("stop handle=%ld", reinterpret_cast<long>(handle));
  return 0;
}

int RecordState(void* handle, int state, void* arguments) {
  Write("state handle=%ld state=%d argument=%ld", reinterpret_cast<long>(handle), state,
        arguments == nullptr ? -1L : At<long>(arguments, 0));
  return 0;
}

int Finalize(void* context) {
  Write("finalize context=%p", context);
  return 0;
}

struct Table {
  const char* name;
  void* init;
  int (*start)(void*, void**, void*);
  int (*stop)(void*);
  int (*state)(void*, int, void*);
  int (*finalize)(void*);
};

template <int kVersion>
int Start(void* context, void** handle, void* descriptor) {
  return StartEvent(kVersion, context, handle, descriptor);
}

[[maybe_unused]] int InitV2(void** context, int* mask) {
  Open();
  Write("init v2");
  return Begin(context, mask);
}
[[maybe_unused]] int InitV4(void** context, int* mask, const char* name, uint64_t id, int nodes,
                            int ranks, int rank, void*) {
  Open();
  Write("init v4 comm=%#lx name=%s nodes=%d ranks=%d rank=%d", static_cast<unsigned long>(id),
        Text(name), nodes, ranks, rank);
  return Begin(context, mask);
}
template <int kVersion>
int InitV5(void** context, uint64_t id, int* mask, const char* name, int nodes, int ranks, int rank,
           void*) {
  Open();
  Write("init v%d comm=%#lx name=%s nodes=%d ranks=%d rank=%d", kVersion,
        static_cast<unsigned long>(id), Text(name), nodes, ranks, rank);
  return Begin(context, mask);
}

}  // namespace

extern "C" {
#define FAKE_TABLE(version, init)                                                           \
  __attribute__((visibility("default"))) extern const Table ncclProfiler_v##version;        \
  const Table ncclProfiler_v##version = {"fake",          reinterpret_cast<void*>(&(init)), \
                                         &Start<version>, &StopEvent,                       \
                                         &RecordState,    &Finalize}
#ifdef FAKE_V2
FAKE_TABLE(2, InitV2);
#endif
#ifdef FAKE_V3
FAKE_TABLE(3, InitV2);
#endif
#ifdef FAKE_V4
FAKE_TABLE(4, InitV4);
#endif
#ifdef FAKE_V5
FAKE_TABLE(5, InitV5<5>);
#endif
#ifdef FAKE_V6
FAKE_TABLE(6, InitV5<6>);
#endif
}
