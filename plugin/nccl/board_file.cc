#include "board_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "board/layout.h"

namespace sentinel::nccl {
namespace {

bool Fail(BoardFile* file, const char* failed, int error) {
  file->failed = failed;
  file->error = error;
  return false;
}

}  // namespace

bool CreateBoardFile(const char* directory, int64_t pid, uint64_t start_ticks, BoardFile* file) {
  const int length =
      snprintf(file->path, sizeof(file->path), "%s/gpu-sentinel.%lld.%llu", directory,
               static_cast<long long>(pid), static_cast<unsigned long long>(start_ticks));
  if (length < 0 || length >= kPathMax) return Fail(file, "name", ENAMETOOLONG);
  // Growing a file past this limit does not fail, it kills.
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < board::kBytes)
    return Fail(file, "reserve (file size limit)", EFBIG);
  const int fd = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return Fail(file, "create", errno);
  // Every page now, or none: a page that is missing later would be a SIGBUS in the job.
  int error = posix_fallocate(fd, 0, static_cast<off_t>(board::kBytes));
  const char* failed = "reserve";
  if (error == 0) {
    const int fixed = file->memory != nullptr ? MAP_FIXED : 0;
    void* memory = mmap(file->memory, board::kBytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_POPULATE | fixed, fd, 0);
    if (memory != MAP_FAILED) {
      file->memory = memory;
      file->failed = nullptr;
      close(fd);
      return true;
    }
    failed = "map";
    error = errno;
  }
  close(fd);
  unlink(file->path);
  return Fail(file, failed, error);
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
