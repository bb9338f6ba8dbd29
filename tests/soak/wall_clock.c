// Preloaded into a daemon, lets somebody else step its wall clock: what is in the file named by SENTINEL_WALL_CLOCK, eight bytes of
// nanoseconds in this machine's order, is added to CLOCK_REALTIME. CLOCK_MONOTONIC is left alone, as a stepped host's is.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const _Atomic int64_t* ahead;

__attribute__((constructor)) static void OpenFile(void) {
  const char* path = getenv("SENTINEL_WALL_CLOCK");
  int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (page != MAP_FAILED) ahead = page;
}

static int IsWall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

int clock_gettime(clockid_t clock, struct timespec* now) {
  int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result != 0 || ahead == NULL || !IsWall(clock)) return result;
  const int64_t second = 1000000000;
  int64_t nanos = now->tv_sec * second + now->tv_nsec + atomic_load_explicit(ahead, memory_order_relaxed);
  now->tv_sec = nanos / second;
  now->tv_nsec = nanos % second;
  return 0;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return (time_t)-1;
  if (out != NULL) *out = exact.tv_sec;
  return exact.tv_sec;
}
