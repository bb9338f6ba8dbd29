#include "probe/host/board_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

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

}  // namespace

Result<BoardFile> BoardFile::Open(int folder_fd, const std::string& name) {
  BoardFile board;
  // O_NONBLOCK: a fifo of that name must not hold us.
  board.fd_ = OwnedFd(
      openat(folder_fd, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!board.fd_.open()) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kDenied;
    return Error{code, name + ": " + std::strerror(errno)};
  }
  struct stat status {};
  if (fstat(board.fd_.get(), &status) != 0) {
    return Error{ErrorCode::kIo, name + ": " + std::strerror(errno)};
  }
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kDenied, name + ": not a regular file"};
  if (status.st_size < static_cast<off_t>(kBoardHeaderBytes) ||
      status.st_size > static_cast<off_t>(kBoardBytesMax)) {
    return Error{ErrorCode::kCorrupt,
                 name + ": " + std::to_string(status.st_size) + " bytes, no board has that size"};
  }
  board.identity_ = {status.st_dev, status.st_ino};
  board.owner_ = status.st_uid;
  return board;
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
