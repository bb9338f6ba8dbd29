#include "board_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "board/layout.h"

namespace sentinel::nccl {
namespace {

// Newer than the C library we are built for: linux/memfd.h and linux/fcntl.h.
constexpr unsigned kMemfdCloexec = 1;
constexpr unsigned kMemfdAllowSealing = 2;
constexpr int kAddSeals = 1033;
constexpr int kSealSeal = 1;
constexpr int kSealShrink = 2;
constexpr int kSealGrow = 4;
constexpr int kSealFutureWrite = 16;  // Linux 5.1

// Out of the way of programs that close the first few hundred, or wait for theirs with select().
constexpr int kFdLeast = 1000;

bool Fail(BoardFile* file, const char* failed, int error) {
  file->failed = failed;
  file->error = error;
  return false;
}

// Every page now, or none: a page that is missing later would be a SIGBUS in the job.
bool ReserveAndMap(int fd, BoardFile* file) {
  const int error = posix_fallocate(fd, 0, static_cast<off_t>(board::kBytes));
  if (error != 0) return Fail(file, "reserve", error);
  const int fixed = file->memory != nullptr ? MAP_FIXED : 0;
  void* memory = mmap(file->memory, board::kBytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_POPULATE | fixed, fd, 0);
  if (memory == MAP_FAILED) return Fail(file, "map", errno);
  file->memory = memory;
  return true;
}

// The mapping that is there goes on writing; nobody gets another that could, and nobody changes the
// size. A kernel without the newest seal leaves writing to those who may, which harms what we say
// but not the job.
bool Seal(int fd) {
  constexpr int kSize = kSealSeal | kSealShrink | kSealGrow;
  return fcntl(fd, kAddSeals, kSize | kSealFutureWrite) == 0 || fcntl(fd, kAddSeals, kSize) == 0;
}

// The C library's fstat is newer than what we may need of it; on 64-bit machines the kernel fills
// the same structure.
bool Stat(int fd, struct stat* status) { return syscall(SYS_fstat, fd, status) == 0; }

bool Write(int fd, const char* text, size_t length) {
  const ssize_t wrote = write(fd, text, length);
  if (wrote == static_cast<ssize_t>(length)) return true;
  if (wrote >= 0) errno = ENOSPC;
  return false;
}

// -1 where there is no such memory.
int MakeSealable() {
#ifdef SYS_memfd_create
  const long fd = syscall(SYS_memfd_create, "gpu-sentinel", kMemfdCloexec | kMemfdAllowSealing);
  if (fd < 0) return -1;
  const int high = fcntl(static_cast<int>(fd), F_DUPFD_CLOEXEC, kFdLeast);
  if (high < 0) return static_cast<int>(fd);  // fewer are allowed
  close(static_cast<int>(fd));
  return high;
#else
  return -1;
#endif
}

// Fills in the file that has just been made: sealed memory and the way to it, or else the board.
bool Fill(int place, BoardFile* file) {
  const bool first = file->memory == nullptr;
  const int fd = MakeSealable();
  if (fd >= 0 && ReserveAndMap(fd, file)) {
    char text[64];
    const int length = snprintf(text, sizeof(text), "gpu-sentinel board 1 fd %d\n", fd);
    struct stat status;
    if (Seal(fd) && Stat(fd, &status)) {
      if (!Write(place, text, static_cast<size_t>(length))) {
        const int error = errno;
        close(fd);
        // An earlier board's place is kept: callbacks that come late still write there.
        if (first) munmap(file->memory, board::kBytes);
        if (first) file->memory = nullptr;
        return Fail(file, "write", error);
      }
      file->fd = fd;
      file->device = status.st_dev;
      file->inode = status.st_ino;
      return true;
    }
  }
  if (fd >= 0) close(fd);
  return ReserveAndMap(place, file);
}

}  // namespace

bool CreateBoardFile(const char* directory, int64_t pid, uint64_t start_ticks, BoardFile* file) {
  file->fd = -1;
  const int length =
      snprintf(file->path, sizeof(file->path), "%s/gpu-sentinel.%lld.%llu", directory,
               static_cast<long long>(pid), static_cast<unsigned long long>(start_ticks));
  if (length < 0 || length >= kPathMax) return Fail(file, "name", ENAMETOOLONG);
  // Growing a file past this limit does not fail, it kills.
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < board::kBytes)
    return Fail(file, "reserve (file size limit)", EFBIG);
  const int place = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (place < 0) return Fail(file, "create", errno);
  const bool filled = Fill(place, file);
  close(place);
  if (filled) {
    file->failed = nullptr;
  } else {
    unlink(file->path);
  }
  return filled;
}

void RemoveBoardFile(BoardFile* file) {
  unlink(file->path);
  struct stat status;
  if (file->fd >= 0 && Stat(file->fd, &status) && status.st_dev == file->device &&
      status.st_ino == file->inode)
    close(file->fd);
  file->fd = -1;
}

uint64_t OwnStartTicks() {
  char text[1024];
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (got <= 0) return 0;
  text[got] = '\0';
  // The command, field 2, may hold blanks and brackets; field 3 comes after the last one.
  const char* at = strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) at = strchr(at + 1, ' ');
  if (at == nullptr) return 0;
  uint64_t ticks = 0;
  for (++at; *at >= '0' && *at <= '9'; ++at) ticks = ticks * 10 + static_cast<uint64_t>(*at - '0');
  return ticks;
}

}  // namespace sentinel::nccl
