#include "ring/ledger.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sentinel {

size_t Ledger::BytesFor(size_t callbacks) {
  return sizeof(Shared) + callbacks * sizeof(std::atomic<int64_t>);
}

Result<Ledger> Ledger::Create(size_t callbacks) {
  const int fd = memfd_create("sentinel-ring-ledger", MFD_CLOEXEC);
  if (fd < 0) return Error{ErrorCode::kIo, std::string("memfd_create: ") + std::strerror(errno)};
  if (ftruncate(fd, static_cast<off_t>(BytesFor(callbacks))) != 0) {
    const std::string why = std::strerror(errno);
    close(fd);
    return Error{ErrorCode::kIo, "shared memory: " + why};
  }
  return Map(fd, callbacks);
}

Result<Ledger> Ledger::Open(int fd, size_t callbacks) { return Map(fd, callbacks); }

Result<Ledger> Ledger::Map(int fd, size_t callbacks) {
  const size_t bytes = BytesFor(callbacks);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    const std::string why = std::strerror(errno);
    close(fd);
    return Error{ErrorCode::kIo, "shared memory: " + why};
  }
  return Ledger(fd, bytes, memory);  // fresh memory reads as zeros: starting, nothing made
}

Ledger::Ledger(Ledger&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      bytes_(other.bytes_),
      shared_(std::exchange(other.shared_, nullptr)) {}

Ledger::~Ledger() {
  if (shared_ != nullptr) munmap(shared_, bytes_);
  if (fd_ >= 0) close(fd_);
}

void Ledger::Ready() { shared_->phase.store(Phase::kReady, std::memory_order_release); }

void Ledger::Fail(std::string_view why) {
  const size_t bytes = std::min(why.size(), kFailureBytesMax - 1);
  std::memcpy(shared_->failure, why.data(), bytes);
  shared_->failure[bytes] = '\0';
  shared_->phase.store(Phase::kFailed, std::memory_order_release);
}

void Ledger::Made(size_t index, Instant when) {
  shared_->made_at_ns[index].store(when.since_boot.count(), std::memory_order_relaxed);
  shared_->made.store(index + 1, std::memory_order_release);
}

void Ledger::StartAt(Instant start) {
  shared_->start_ns.store(start.since_boot.count(), std::memory_order_release);
}

bool Ledger::IsReady() const {
  return shared_->phase.load(std::memory_order_acquire) == Phase::kReady;
}

std::optional<std::string> Ledger::Failure() const {
  if (shared_->phase.load(std::memory_order_acquire) != Phase::kFailed) return std::nullopt;
  return std::string(shared_->failure, strnlen(shared_->failure, kFailureBytesMax));
}

std::optional<Instant> Ledger::Start() const {
  const int64_t start = shared_->start_ns.load(std::memory_order_acquire);
  if (start == 0) return std::nullopt;
  return Instant{Duration(start)};
}

size_t Ledger::MadeCount() const { return shared_->made.load(std::memory_order_acquire); }

Instant Ledger::MadeAt(size_t index) const {
  return {Duration(shared_->made_at_ns[index].load(std::memory_order_relaxed))};
}

}  // namespace sentinel
