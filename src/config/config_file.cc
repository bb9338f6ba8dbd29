#include "config/config_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace sentinel {

Result<std::string> ReadConfigFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Error{ErrorCode::kInvalidArgument, path + ": it is a folder"};
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{ErrorCode::kNotFound, path + ": cannot be read: " + std::strerror(errno)};
  }
  std::string text(kConfigBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (file.bad()) return Error{ErrorCode::kIo, path + ": cannot be read"};
  if (text.size() > kConfigBytesMax) {
    return Error{ErrorCode::kInvalidArgument, path + ": longer than any configuration"};
  }
  return text;
}

}  // namespace sentinel
