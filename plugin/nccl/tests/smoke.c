// The plugin once through on another architecture: loaded by name, one collective, a board that
// says so. Plain C and no test library, so that a cross compiler is enough.
#include <dlfcn.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct table {
  const char* name;
  int (*init)(void**, uint64_t, int*, const char*, int, int, int, void*);
  int (*start)(void*, void**, void*);
  int (*stop)(void*);
  int (*record)(void*, int, void*);
  int (*finalize)(void*);
};

static char raw[160];

static void put(int at, const void* value, size_t size) { memcpy(raw + at, value, size); }

static void begin(uint64_t type, void* parent) {
  memset(raw, 0, sizeof(raw));
  put(0, &type, 8);
  put(8, &parent, 8);
}

#define EXPECT(condition)                                \
  do {                                                   \
    if (!(condition)) {                                  \
      fprintf(stderr, "smoke: %s failed\n", #condition); \
      return 1;                                          \
    }                                                    \
  } while (0)

int main(int argc, char** argv) {
  char directory[] = "/tmp/sentinel-smoke-XXXXXX";
  EXPECT(argc == 2 && mkdtemp(directory) != NULL);
  setenv("SENTINEL_BOARD_DIR", directory, 1);
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  EXPECT(library != NULL);
  struct table* t = dlsym(library, "ncclProfiler_v5");
  EXPECT(t != NULL);
  void *context = NULL, *op = NULL, *kernel = NULL;
  int mask = 0;
  EXPECT(t->init(&context, 0x42, &mask, "", 1, 2, 0, NULL) == 0 && mask == 0x75e);
  begin(0x2, NULL);
  const char *func = "AllReduce", *algorithm = "RING";
  const uint8_t channels = 1;
  put(32, &func, 8);
  put(80, &channels, 1);
  put(88, &algorithm, 8);
  EXPECT(t->start(context, &op, raw) == 0 && op != NULL);
  begin(0x40, op);
  EXPECT(t->start(context, &kernel, raw) == 0 && kernel != NULL);
  EXPECT(t->stop(kernel) == 0);

  char pattern[64];
  glob_t found;
  snprintf(pattern, sizeof(pattern), "%s/gpu-sentinel.*", directory);
  EXPECT(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1);
  FILE* place = fopen(found.gl_pathv[0], "rb");
  int fd = -1;
  char path[64];
  EXPECT(place != NULL);
  // Its descriptor, where there is sealed memory; or the board itself.
  const int elsewhere = fscanf(place, "gpu-sentinel board 1 fd %d", &fd) == 1;
  snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
  FILE* board = fopen(elsewhere ? path : found.gl_pathv[0], "rb");
  char header[4096];
  EXPECT(board != NULL && fread(header, sizeof(header), 1, board) == 1);
  EXPECT(memcmp(header, "GPSBOARD", 8) == 0);
  uint64_t started, finished;
  memcpy(&started, header + 512 + 16, 8);
  memcpy(&finished, header + 512 + 24, 8);
  EXPECT(started == 1 && finished == 1);
  EXPECT(t->finalize(context) == 0);
  EXPECT(glob(pattern, 0, NULL, &found) == GLOB_NOMATCH);
  rmdir(directory);
  puts("smoke: ok");
  return 0;
}
