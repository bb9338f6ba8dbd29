#include "agent/spool_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "probe/host/proc_files.h"
#include "wire/event_json.h"

namespace sentinel {
namespace {

constexpr std::string_view kWhole = ".json";
constexpr std::string_view kHalf = ".part";

Error IoError(const std::string& what) {
  return {ErrorCode::kIo, what + ": " + std::strerror(errno)};
}

std::optional<uint64_t> IdOf(std::string_view name, std::string_view ending) {
  if (name.size() <= ending.size() || name.substr(name.size() - ending.size()) != ending) {
    return std::nullopt;
  }
  name.remove_suffix(ending.size());
  uint64_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return id;
}

Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return IoError("write");
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

Status SyncFolder(const std::string& path) {
  const OwnedFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.open() || fsync(folder.get()) != 0) return IoError(path);
  return {};
}

}  // namespace

std::string SpoolDir::File(uint64_t id) const { return path_ + "/" + std::to_string(id); }

Status SpoolDir::Make() const {
  const auto parent = std::filesystem::path(path_).parent_path();
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) return Error{ErrorCode::kIo, parent.string() + ": " + error.message()};
  if (mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) return IoError(path_);
  return {};
}

Result<std::vector<SpoolDir::Entry>> SpoolDir::Open(size_t entries_max) {
  TRY(Make());
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path_.c_str()), closedir);
  if (!folder) return IoError(path_);
  std::vector<uint64_t> ids;
  while (const dirent* entry = readdir(folder.get())) {
    if (IdOf(entry->d_name, kHalf)) unlinkat(dirfd(folder.get()), entry->d_name, 0);
    if (const std::optional<uint64_t> id = IdOf(entry->d_name, kWhole)) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  if (ids.size() > entries_max) ids.resize(entries_max);
  std::vector<Entry> entries;
  for (const uint64_t id : ids) {
    Result<std::string> body = ReadWhole(File(id) + std::string(kWhole), 2 * kEventBytesMax);
    if (body.ok()) entries.push_back({id, std::move(body).value()});
  }
  return entries;
}

Status SpoolDir::Write(uint64_t id, const std::string& body) {
  const std::string half = File(id) + std::string(kHalf);
  const auto create = [&] {
    return OwnedFd(open(half.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  };
  OwnedFd file = create();
  // The folder could not be made at the start, or somebody has removed it since.
  if (!file.open() && errno == ENOENT) {
    TRY(Make());
    file = create();
  }
  if (!file.open()) return IoError(half);
  const auto put = [&]() -> Status {
    TRY(WriteAll(file.get(), body));
    if (fsync(file.get()) != 0) return IoError(half);
    const std::string whole = File(id) + std::string(kWhole);
    if (rename(half.c_str(), whole.c_str()) != 0) return IoError(whole);
    return SyncFolder(path_);
  };
  Status done = put();
  if (!done.ok()) unlink(half.c_str());
  return done;
}

void SpoolDir::Remove(uint64_t id) { unlink((File(id) + std::string(kWhole)).c_str()); }

}  // namespace sentinel
