#include "config/folder_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace sentinel {

Error NotHere(const std::string& key, const std::string& value, const std::string& why) {
  return {ErrorCode::kNotFound, key + " = \"" + value + "\": " + why};
}

std::string FolderOf(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Status CheckFolder(const std::string& path, int access_mode) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return Error{ErrorCode::kNotFound, std::strerror(errno)};
  if (!S_ISDIR(found.st_mode)) return Error{ErrorCode::kNotFound, std::strerror(ENOTDIR)};
  if (access(path.c_str(), access_mode) != 0) {
    return Error{ErrorCode::kNotFound, std::strerror(errno)};
  }
  return {};
}

Status CheckWritable(std::string folder) {
  Status writable = CheckFolder(folder, W_OK | X_OK);
  while (!writable.ok() && folder.size() > 1) {
    struct stat found {};
    if (stat(folder.c_str(), &found) == 0 || (errno != ENOENT && errno != ENOTDIR)) break;
    folder = FolderOf(folder);
    writable = CheckFolder(folder, W_OK | X_OK);
  }
  if (writable.ok()) return {};
  return Error{ErrorCode::kNotFound, folder + ": " + writable.error().message};
}

}  // namespace sentinel
