#include "probe/host/board_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "board/decoder.h"

namespace sentinel {
namespace {

Status ReadExactly(int fd, std::span<std::byte> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{ErrorCode::kIo, std::string("board: ") + std::strerror(errno)};
    if (got == 0) return Error{ErrorCode::kCorrupt, "board: cut short"};
    done += static_cast<size_t>(got);
  }
  return {};
}

// Only sealed memory of ours has such a name, and no file of any file system is called so.
constexpr std::string_view kMemoryName = "/memfd:gpu-sentinel";
constexpr size_t kPlaceBytesMax = 63;

Error Refused(ErrorCode code, const std::string& what) { return {code, what}; }
Error Unopened(const std::string& what) {
  const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kDenied;
  return {code, what + ": " + std::strerror(errno)};
}

bool HasBoardsSize(off_t size) {
  return size >= static_cast<off_t>(kBoardHeaderBytes) &&
         size <= static_cast<off_t>(kBoardBytesMax);
}

}  // namespace

Result<BoardFile> BoardFile::Open(int folder_fd, const std::string& name,
                                  const std::string& descriptors) {
  BoardFile board;
  // O_NONBLOCK: a fifo of that name must not hold us.
  board.fd_ = OwnedFd(
      openat(folder_fd, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!board.fd_.open()) return Unopened(name);
  struct stat status {};
  if (fstat(board.fd_.get(), &status) != 0) {
    return Error{ErrorCode::kIo, name + ": " + std::strerror(errno)};
  }
  if (!S_ISREG(status.st_mode)) return Refused(ErrorCode::kDenied, name + ": not a regular file");
  board.identity_ = {status.st_dev, status.st_ino};
  board.owner_ = status.st_uid;
  if (HasBoardsSize(status.st_size)) return board;
  if (status.st_size > static_cast<off_t>(kPlaceBytesMax)) {
    return Refused(ErrorCode::kCorrupt,
                   name + ": " + std::to_string(status.st_size) + " bytes, no board has that size");
  }
  const Status opened = board.OpenMemory(descriptors);
  if (!opened.ok()) return Refused(opened.error().code, name + ": " + opened.error().message);
  return board;
}

Status BoardFile::OpenMemory(const std::string& descriptors) {
  char text[kPlaceBytesMax + 1] = "";
  const ssize_t got = pread(fd_.get(), text, kPlaceBytesMax, 0);
  const std::optional<int> number = ParseBoardPlace(std::string_view(text, got < 0 ? 0 : got));
  if (!number) return Refused(ErrorCode::kCorrupt, "neither a board nor the way to one");
  // What is behind the number is the process's choice: it is looked at before it is opened.
  const std::string path = descriptors + "/" + std::to_string(*number);
  const OwnedFd found(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!found.open()) return Unopened(path);
  const std::string by_us = "/proc/self/fd/" + std::to_string(found.get());
  char called[64] = "";
  const ssize_t length = readlink(by_us.c_str(), called, sizeof called);
  if (!std::string_view(called, length < 0 ? 0 : length).starts_with(kMemoryName)) {
    return Refused(ErrorCode::kDenied, path + ": not a board's memory");
  }
  struct stat status {};
  if (fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return Refused(ErrorCode::kDenied, path + ": not a board's memory");
  }
  if (!HasBoardsSize(status.st_size)) {
    return Refused(ErrorCode::kCorrupt, path + ": no board has that size");
  }
  OwnedFd memory(open(by_us.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!memory.open()) return Unopened(path);
  const int seals = fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return Refused(ErrorCode::kDenied, path + ": not sealed");
  }
  place_ = std::exchange(fd_, std::move(memory));
  return {};
}

Status BoardFile::ReadStart(std::span<std::byte> start) const {
  return ReadExactly(fd_.get(), start);
}

Status BoardFile::ReadAll(std::vector<std::byte>* bytes) const {
  bytes->resize(std::max(bytes->size(), kBoardHeaderBytes));
  const std::span header = std::span(*bytes).first(kBoardHeaderBytes);
  TRY(ReadStart(header));
  const size_t size = TRY(BoardBytes(header));
  bytes->resize(size);
  return ReadExactly(fd_.get(), *bytes);
}

}  // namespace sentinel
