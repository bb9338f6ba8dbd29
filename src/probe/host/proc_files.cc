#include "probe/host/proc_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace sentinel {
namespace {

constexpr size_t kTextBytesMax = 16 * 1024;
constexpr size_t kEnvironBytesMax = 256 * 1024;
constexpr const char* kPodNamespaceFile = "var/run/secrets/kubernetes.io/serviceaccount/namespace";
constexpr size_t kPodNamespaceBytesMax = 256;

Error FromErrno(const std::string& path) {
  const ErrorCode code = errno == ENOENT || errno == ESRCH   ? ErrorCode::kNotFound
                         : errno == EACCES || errno == EPERM ? ErrorCode::kDenied
                                                             : ErrorCode::kIo;
  return {code, path + ": " + std::strerror(errno)};
}

std::vector<int> NumericEntries(const std::string& path, size_t entries_max) {
  std::vector<int> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  if (!folder) return numbers;
  while (const dirent* entry = readdir(folder.get())) {
    int number = 0;
    const char* c = entry->d_name;
    for (; *c >= '0' && *c <= '9' && number < 100'000'000; ++c) number = number * 10 + (*c - '0');
    if (*c != '\0' || number == 0) continue;
    numbers.push_back(number);
    if (numbers.size() >= entries_max) break;
  }
  return numbers;
}

}  // namespace

OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = other.Release();
  }
  return *this;
}

int OwnedFd::Release() { return std::exchange(fd_, -1); }

void OwnedFd::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Result<std::string> ReadWhole(const std::string& path, size_t bytes_max) {
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.open()) return FromErrno(path);
  std::string text;
  char piece[4096];
  while (text.size() < bytes_max) {
    const ssize_t got = read(fd.get(), piece, std::min(sizeof piece, bytes_max - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FromErrno(path);
    if (got == 0) break;
    text.append(piece, static_cast<size_t>(got));
  }
  return text;
}

ProcFiles::ProcFiles(std::string proc, std::string cgroup)
    : proc_(std::move(proc)), cgroup_(std::move(cgroup)) {}

std::string ProcFiles::File(int pid, const char* name) const {
  return proc_ + "/" + std::to_string(pid) + "/" + name;
}

std::vector<int> ProcFiles::Pids() const { return NumericEntries(proc_, kPidsMax); }
std::vector<int> ProcFiles::Threads(int pid) const {
  return NumericEntries(File(pid, "task"), kPidsMax);
}

Result<ProcStat> ProcFiles::Stat(int pid) const {
  const std::string text = TRY(ReadWhole(File(pid, "stat"), kTextBytesMax));
  return ParseProcStat(text);
}

Result<ProcStat> ProcFiles::ThreadStat(int pid, int tid) const {
  const std::string name = "task/" + std::to_string(tid) + "/stat";
  const std::string text = TRY(ReadWhole(File(pid, name.c_str()), kTextBytesMax));
  return ParseProcStat(text);
}

Result<ProcStatus> ProcFiles::Status(int pid) const {
  const std::string text = TRY(ReadWhole(File(pid, "status"), kTextBytesMax));
  return ParseProcStatus(text);
}

Result<ProcIo> ProcFiles::Io(int pid) const {
  const std::string text = TRY(ReadWhole(File(pid, "io"), kTextBytesMax));
  return ParseProcIo(text);
}

uint64_t ProcFiles::RunDelayNs(int pid) const {
  const Result<std::string> text = ReadWhole(File(pid, "schedstat"), kTextBytesMax);
  return text.ok() ? ParseRunDelayNs(*text).value_or(0) : 0;
}

Result<ProcCgroup> ProcFiles::Cgroup(int pid) const {
  const std::string text = TRY(ReadWhole(File(pid, "cgroup"), kTextBytesMax));
  return ParseProcCgroup(text);
}

Result<std::string> ProcFiles::Environ(int pid) const {
  return ReadWhole(File(pid, "environ"), kEnvironBytesMax);
}

// In a container's own tree, of which the container is the author: links are followed as it would
// follow them itself, and never out of it.
Result<std::string> ProcFiles::PodNamespace(int pid) const {
  const std::string root = File(pid, "root");
  const OwnedFd tree(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!tree.open()) return FromErrno(root);
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const OwnedFd fd(
      static_cast<int>(syscall(SYS_openat2, tree.get(), kPodNamespaceFile, &how, sizeof how)));
  if (!fd.open()) return FromErrno(root + '/' + kPodNamespaceFile);
  char name[kPodNamespaceBytesMax];
  const ssize_t got = read(fd.get(), name, sizeof name);
  if (got < 0) return FromErrno(root + '/' + kPodNamespaceFile);
  return std::string(name, static_cast<size_t>(got));
}

Result<std::string> ProcFiles::MountNamespace(int pid) const {
  const std::string path = File(pid, "ns/mnt");
  char name[64];
  const ssize_t got = readlink(path.c_str(), name, sizeof name);
  if (got < 0) return FromErrno(path);
  return std::string(name, static_cast<size_t>(got));
}

namespace {

// A path with ".." would leave the hierarchy; the kernel writes such paths for processes outside
// our cgroup namespace.
bool Inside(const std::string& path) {
  return !path.empty() && path.find("..") == std::string::npos;
}

}  // namespace

// A file of its v2 cgroup, wherever that hierarchy is mounted.
Result<std::string> ProcFiles::Unified(const ProcCgroup& cgroup, const char* name) const {
  Result<std::string> text = Error{ErrorCode::kNotFound, "not in a v2 cgroup"};
  if (!Inside(cgroup.unified)) return text;
  for (const char* hierarchy : {"", "/unified"}) {
    text = ReadWhole(cgroup_ + hierarchy + cgroup.unified + "/" + name, kTextBytesMax);
    if (text.ok()) break;
  }
  return text;
}

bool ProcFiles::Frozen(const ProcCgroup& cgroup) const {
  const Result<std::string> events = Unified(cgroup, "cgroup.events");
  if (events.ok() && CgroupEventsFrozen(*events)) return true;
  if (!Inside(cgroup.freezer)) return false;
  const Result<std::string> state =
      ReadWhole(cgroup_ + "/freezer" + cgroup.freezer + "/freezer.state", kTextBytesMax);
  return state.ok() && state->rfind("FROZEN", 0) == 0;
}

std::optional<bool> ProcFiles::Empty(const ProcCgroup& cgroup) const {
  const Result<std::string> events = Unified(cgroup, "cgroup.events");
  return events.ok() ? CgroupEventsEmpty(*events) : std::nullopt;
}

std::optional<uint64_t> ProcFiles::OomKills(const ProcCgroup& cgroup) const {
  const Result<std::string> events = Unified(cgroup, "memory.events");
  if (events.ok()) return OomKillsIn(*events);
  if (!Inside(cgroup.memory)) return std::nullopt;
  const Result<std::string> control =
      ReadWhole(cgroup_ + "/memory" + cgroup.memory + "/memory.oom_control", kTextBytesMax);
  return control.ok() ? OomKillsIn(*control) : std::nullopt;
}

}  // namespace sentinel
