#include "agent/learned_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/digest.h"
#include "probe/host/proc_files.h"
#include "progress/learned_text.h"

namespace sentinel {
namespace {

Error IoError(const std::string& what) {
  return {ErrorCode::kIo, what + ": " + std::strerror(errno)};
}

}  // namespace

LearnedFile::LearnedFile(std::string folder, const std::string& agent_id)
    : folder_(std::move(folder)),
      path_(folder_ + "/learned." + Sha256Hex("gpu-sentinel learned " + agent_id).substr(0, 16)) {}

Result<Learned> LearnedFile::Load(const std::string& boot) const {
  struct stat found {};
  if (lstat(path_.c_str(), &found) != 0) {
    const bool none = errno == ENOENT || errno == ENOTDIR;
    const ErrorCode code = none ? ErrorCode::kNotFound : ErrorCode::kIo;
    return Error{code, path_ + ": " + std::strerror(errno)};
  }
  // Whoever may write here may stop us anyway; but a fifo, say, would hold us.
  if (!S_ISREG(found.st_mode)) return Error{ErrorCode::kCorrupt, path_ + ": not a regular file"};
  const std::string text = TRY(ReadWhole(path_, kLearnedBytesMax + 1));
  Result<Learned> learned = ReadLearned(text);
  if (!learned.ok()) {
    return Error{learned.error().code, path_ + ": " + learned.error().message};
  }
  if (boot.empty() || learned->boot != boot) {
    return Error{ErrorCode::kUnavailable, path_ + ": of another boot"};
  }
  return learned;
}

Status LearnedFile::MakeFolder() const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return Error{ErrorCode::kIo, folder_ + ": " + error.message()};
  if (access(folder_.c_str(), W_OK | X_OK) != 0) return IoError(folder_);
  return {};
}

Status LearnedFile::Save(const std::string& text) const {
  TRY(MakeFolder());
  const std::string half = path_ + ".part";
  unlink(half.c_str());  // of a run that was killed; or a link somebody has put there
  const OwnedFd file(
      open(half.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.open()) return IoError(half);
  const auto put = [&]() -> Status {
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t wrote = write(file.get(), text.data() + done, text.size() - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return IoError(half);
      done += static_cast<size_t>(wrote);
    }
    if (rename(half.c_str(), path_.c_str()) != 0) return IoError(path_);
    return {};
  };
  Status saved = put();
  if (!saved.ok()) unlink(half.c_str());
  return saved;
}

}  // namespace sentinel
