// The files of /proc and /sys/fs/cgroup, read. Thin: what they mean is proc_text.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "probe/host/proc_text.h"

namespace sentinel {

// At most `bytes_max` of a file that has no size of its own. kNotFound, kDenied or kIo.
Result<std::string> ReadWhole(const std::string& path, size_t bytes_max);

// Closes its file descriptor.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.Release()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd() { Close(); }

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  int Release();
  void Close();

 private:
  int fd_ = -1;
};

class ProcFiles {
 public:
  // The roots are other than the machine's in tests alone.
  explicit ProcFiles(std::string proc = "/proc", std::string cgroup = "/sys/fs/cgroup");

  // Processes there are now, at most kPidsMax.
  static constexpr size_t kPidsMax = 65536;
  std::vector<int> Pids() const;
  std::vector<int> Threads(int pid) const;

  Result<ProcStat> Stat(int pid) const;
  Result<ProcStat> ThreadStat(int pid, int tid) const;
  Result<ProcStatus> Status(int pid) const;
  Result<ProcIo> Io(int pid) const;
  // 0 where the kernel does not tell.
  uint64_t RunDelayNs(int pid) const;
  Result<ProcCgroup> Cgroup(int pid) const;
  Result<std::string> Environ(int pid) const;
  // The file in which Kubernetes tells the process's container its namespace.
  Result<std::string> PodNamespace(int pid) const;
  // Names its mount namespace; equal for processes that share one.
  Result<std::string> MountNamespace(int pid) const;

  bool Frozen(const ProcCgroup& cgroup) const;
  // Whether no process is left in it; nothing where that cannot be told, also once it is removed.
  std::optional<bool> Empty(const ProcCgroup& cgroup) const;
  // Processes of it killed for want of memory, ever; nothing where that cannot be told.
  std::optional<uint64_t> OomKills(const ProcCgroup& cgroup) const;

  const std::string& proc() const { return proc_; }

 private:
  std::string File(int pid, const char* name) const;
  Result<std::string> Unified(const ProcCgroup& cgroup, const char* name) const;

  std::string proc_;
  std::string cgroup_;
};

}  // namespace sentinel
