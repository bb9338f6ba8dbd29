#include "ring/live/bell.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#include <utility>

#include "ring/live/shared_file.h"

namespace sentinel {

Result<KernelBell> KernelBell::Open(const std::string& folder, int rank) {
  void* memory = TRY(MapSharedFile(folder + "/bell-" + std::to_string(rank), sizeof(Shared)));
  return KernelBell(static_cast<Shared*>(memory));
}

KernelBell::KernelBell(KernelBell&& other) noexcept
    : shared_(std::exchange(other.shared_, nullptr)) {}

KernelBell::~KernelBell() {
  if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
}

// The word is counted up before the sleeper's mark is read, and the sleeper sets its mark before
// the kernel compares the word: one of the two always sees the other.
void KernelBell::Ring() {
  shared_->rung.fetch_add(1, std::memory_order_seq_cst);
  if (shared_->waiting.load(std::memory_order_seq_cst) == 0) return;
  syscall(SYS_futex, &shared_->rung, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

uint32_t KernelBell::Count() const { return shared_->rung.load(std::memory_order_seq_cst); }

void KernelBell::Wait(uint32_t seen, Duration longest) {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(longest.count() / 1'000'000'000);
  limit.tv_nsec = static_cast<long>(longest.count() % 1'000'000'000);
  shared_->waiting.store(1, std::memory_order_seq_cst);
  if (Count() == seen) {
    syscall(SYS_futex, &shared_->rung, FUTEX_WAIT, seen, &limit, nullptr, 0);
  }
  shared_->waiting.store(0, std::memory_order_seq_cst);
}

Result<ProxyBell> ProxyBell::Create() {
  OwnedFd fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!fd.open()) return Error{ErrorCode::kIo, "eventfd: no descriptor is left"};
  return ProxyBell(std::move(fd));
}

ProxyBell::ProxyBell(ProxyBell&& other) noexcept : fd_(std::move(other.fd_)) {}

void ProxyBell::Ring() {
  if (rung_.exchange(true, std::memory_order_seq_cst)) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(fd_.get(), &one, sizeof one);
}

void ProxyBell::Hush() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken = read(fd_.get(), &count, sizeof count);
  rung_.store(false, std::memory_order_seq_cst);
}

}  // namespace sentinel
