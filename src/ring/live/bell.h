// How threads that wait for each other's progress are woken without spinning, within a process and
// across processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "probe/host/proc_files.h"

namespace sentinel {

class Bell {
 public:
  virtual ~Bell() = default;
  virtual void Ring() = 0;  // any thread; cheap where nobody waits
};

// The bell of a rank's kernel thread. Its word lies in a file that the kernels of other ranks of
// the node map as well, since they pass data to each other without anybody between.
class KernelBell : public Bell {
 public:
  // The bell of `rank` under `folder`; owner and neighbours open it the same way, in any order.
  static Result<KernelBell> Open(const std::string& folder, int rank);

  KernelBell(KernelBell&& other) noexcept;
  KernelBell& operator=(KernelBell&&) = delete;
  ~KernelBell() override;

  void Ring() override;

  // The owner alone. How often it has rung: read it, look for work, wait if there was none.
  uint32_t Count() const;
  // Returns when it has rung since `seen` was read, after `longest` at the latest.
  void Wait(uint32_t seen, Duration longest);

 private:
  struct Shared {
    std::atomic<uint32_t> rung;
    std::atomic<uint32_t> waiting;
  };
  explicit KernelBell(Shared* shared) : shared_(shared) {}

  Shared* shared_;
};

// The bell of a progress thread, which waits in poll() for connections too.
class ProxyBell : public Bell {
 public:
  static Result<ProxyBell> Create();
  ProxyBell(ProxyBell&& other) noexcept;

  void Ring() override;

  int fd() const { return fd_.get(); }  // readable once it has rung
  void Hush();                          // before looking for work

 private:
  explicit ProxyBell(OwnedFd fd) : fd_(std::move(fd)) {}

  OwnedFd fd_;
  std::atomic<bool> rung_{false};
};

}  // namespace sentinel
