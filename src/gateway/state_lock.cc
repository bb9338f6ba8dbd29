#include "gateway/state_lock.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sentinel {
namespace {

// The digits that the holder wrote; it may be about to write them.
std::string Holder(int fd) {
  char bytes[16];
  ssize_t size = pread(fd, bytes, sizeof bytes, 0);
  std::string pid;
  for (ssize_t i = 0; i < size && bytes[i] >= '0' && bytes[i] <= '9'; ++i) pid += bytes[i];
  return pid.empty() ? "a process that does not say its pid" : "pid " + pid;
}

// Where no file can be made.
Error NoFolder(const std::string& folder) {
  struct stat found {};
  const std::string name = "'" + folder + "' (state_dir)";
  if (stat(folder.c_str(), &found) != 0) {
    return {ErrorCode::kNotFound, "the folder " + name + " does not exist; create it"};
  }
  return {ErrorCode::kNotFound, S_ISDIR(found.st_mode)
                                    ? name + " is a folder in which no file can be made"
                                    : name + " is not a folder"};
}

}  // namespace

Result<StateLock> StateLock::Take(const std::string& folder) {
  std::string path = folder + "/lock";
  // Kept when we go: whoever removed it might remove it under a successor that has it open already.
  int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    int why = errno;
    if (why == ENOENT || why == ENOTDIR) return NoFolder(folder);
    spdlog::error(
        "event=state_dir_unlocked path={} why=\"{}\" what=\"a second gateway would not be "
        "noticed\"",
        path, std::strerror(why));
    return StateLock(-1);
  }
  StateLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Error{ErrorCode::kUnavailable,
                   "another gateway (" + Holder(fd) + ") uses the folder '" + folder +
                       "' (state_dir): end it, or give this one a state_dir of its own"};
    }
    spdlog::error(
        "event=state_dir_unlocked path={} why=\"{}\" what=\"a second gateway would not be "
        "noticed\"",
        path, std::strerror(errno));
    return StateLock(-1);
  }
  std::string pid = std::to_string(getpid()) + "\n";
  // The lock holds without it; it is for whoever finds the folder taken.
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) < 0) {
    spdlog::warn("event=lock_unsigned path={} why=\"{}\"", path, std::strerror(errno));
  }
  return lock;
}

StateLock::StateLock(StateLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

StateLock& StateLock::operator=(StateLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

StateLock::~StateLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace sentinel
