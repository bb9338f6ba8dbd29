#include "ctl/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace sentinel {
namespace {

Error Failed(const std::string& path, int error) {
  ErrorCode code = error == EEXIST ? ErrorCode::kInvalidArgument : ErrorCode::kIo;
  return {code, path + ": " + std::strerror(error)};
}

std::string FolderOf(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Status WriteAll(int fd, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed(path, errno);
    text.remove_prefix(static_cast<size_t>(written));
  }
  if (fsync(fd) != 0) return Failed(path, errno);
  return {};
}

Status GiveToFoldersOwner(int fd, const std::string& path) {
  struct stat folder {};
  if (geteuid() != 0) return {};
  if (stat(FolderOf(path).c_str(), &folder) != 0 || fchown(fd, folder.st_uid, folder.st_gid) != 0) {
    return Failed(path, errno);
  }
  return {};
}

}  // namespace

Status WritePrivateFile(const std::string& path, std::string_view text, Replace replace) {
  const std::string beside = path + ".new";
  unlink(beside.c_str());  // of one who did not get to the end
  int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return Failed(beside, errno);
  Status written = WriteAll(fd, beside, text);
  if (written.ok()) written = GiveToFoldersOwner(fd, beside);
  close(fd);
  if (written.ok()) {
    int moved = replace == Replace::kYes ? rename(beside.c_str(), path.c_str())
                                         : link(beside.c_str(), path.c_str());
    if (moved != 0) written = Failed(path, errno);
  }
  unlink(beside.c_str());
  if (!written.ok()) return written;
  int folder = open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);
    close(folder);
  }
  return {};
}

Status MakePrivateFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return {};
  int error = errno;
  struct stat found {};
  if (error == EEXIST && stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) return {};
  return Failed(path, error);
}

}  // namespace sentinel
