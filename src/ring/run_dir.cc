#include "ring/run_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace sentinel {
namespace {

constexpr const char* kFreshTemplate = "/dev/shm/sentinel-replay-XXXXXX";

}  // namespace

Result<RunDir> RunDir::Create(const std::string& path, int nodes) {
  RunDir dir;
  if (path.empty()) {
    std::string fresh = kFreshTemplate;
    if (mkdtemp(fresh.data()) == nullptr) {
      return Error{ErrorCode::kIo, fresh + ": " + std::strerror(errno)};
    }
    dir.made_.push_back(fresh);
    dir.path_ = fresh;
  } else {
    std::error_code error;
    dir.path_ = std::filesystem::absolute(path, error).string();
    if (mkdir(dir.path_.c_str(), 0700) == 0) {
      dir.made_.push_back(dir.path_);
    } else if (errno != EEXIST) {
      return Error{ErrorCode::kIo, dir.path_ + ": " + std::strerror(errno)};
    }
  }
  for (int i = 0; i < nodes; ++i) {
    dir.nodes_.push_back(dir.path_ + "/node-" + std::to_string(i));
    if (mkdir(dir.nodes_.back().c_str(), 0700) == 0) {
      dir.made_.push_back(dir.nodes_.back());
    } else if (errno != EEXIST) {
      return Error{ErrorCode::kIo, dir.nodes_.back() + ": " + std::strerror(errno)};
    }
  }
  return dir;
}

RunDir::RunDir(RunDir&& other) noexcept
    : path_(std::move(other.path_)),
      nodes_(std::move(other.nodes_)),
      made_(std::exchange(other.made_, {})) {}

RunDir::~RunDir() {
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
    std::error_code ignored;
    std::filesystem::remove_all(*made, ignored);
  }
}

}  // namespace sentinel
