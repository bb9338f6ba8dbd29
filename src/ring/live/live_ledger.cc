#include "ring/live/live_ledger.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sentinel {
namespace {

std::optional<Instant> InstantIn(const std::atomic<int64_t>& word) {
  const int64_t ns = word.load(std::memory_order_acquire);
  if (ns == 0) return std::nullopt;
  return Instant{Duration(ns)};
}

void StoreOnce(std::atomic<int64_t>& word, Instant when) {
  if (word.load(std::memory_order_relaxed) != 0) return;
  word.store(when.since_boot.count(), std::memory_order_release);
}

void Add(std::atomic<uint64_t>& word, uint64_t more) {  // one writer: no locked add is needed
  word.store(word.load(std::memory_order_relaxed) + more, std::memory_order_release);
}

std::optional<uint64_t> NumberIn(const std::atomic<uint64_t>& word) {
  const uint64_t value = word.load(std::memory_order_acquire);
  if (value == 0) return std::nullopt;
  return value - 1;
}

}  // namespace

Result<LiveLedger> LiveLedger::Create() {
  const int fd = memfd_create("sentinel-ring-live", MFD_CLOEXEC);
  if (fd < 0) return Error{ErrorCode::kIo, std::string("memfd_create: ") + std::strerror(errno)};
  if (ftruncate(fd, static_cast<off_t>(sizeof(Shared))) != 0) {
    const std::string why = std::strerror(errno);
    close(fd);
    return Error{ErrorCode::kIo, "shared memory: " + why};
  }
  return Map(fd);
}

Result<LiveLedger> LiveLedger::Open(int fd) { return Map(fd); }

Result<LiveLedger> LiveLedger::Map(int fd) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) close(fd);
    return Error{ErrorCode::kIo, "shared memory: " + why};
  }
  return LiveLedger(fd, static_cast<Shared*>(memory));  // fresh memory reads as zeros
}

LiveLedger::LiveLedger(LiveLedger&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), shared_(std::exchange(other.shared_, nullptr)) {}

LiveLedger::~LiveLedger() {
  if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
  if (fd_ >= 0) close(fd_);
}

void LiveLedger::Enter(Phase phase) {
  if (this->phase() == Phase::kFailed) return;
  shared_->phase.store(phase, std::memory_order_release);
}

void LiveLedger::Fail(std::string_view why) {
  if (phase() == Phase::kFailed) return;
  const size_t bytes = std::min(why.size(), kFailureBytesMax - 1);
  std::memcpy(shared_->failure, why.data(), bytes);
  shared_->failure[bytes] = '\0';
  shared_->phase.store(Phase::kFailed, std::memory_order_release);
}

void LiveLedger::Iterate(uint64_t iteration) {
  shared_->iterations.store(iteration + 1, std::memory_order_release);
}

void LiveLedger::Verified(size_t elements_wrong) {
  if (elements_wrong > 0) Add(shared_->wrong, elements_wrong);
  Add(shared_->verified, 1);
}

void LiveLedger::Received(size_t comm, Instant when) {
  if (comm >= shared_->received_ns.size()) return;
  shared_->received_ns[comm].store(when.since_boot.count(), std::memory_order_release);
}

void LiveLedger::FaultBegan(size_t fault, Instant when) {
  if (fault < shared_->fault_began_ns.size()) StoreOnce(shared_->fault_began_ns[fault], when);
}

void LiveLedger::FaultEnded(size_t fault, Instant when) {
  if (fault < shared_->fault_ended_ns.size()) StoreOnce(shared_->fault_ended_ns[fault], when);
}

void LiveLedger::GoAhead() { shared_->go.store(1, std::memory_order_release); }

void LiveLedger::Arm(uint64_t iteration) {
  shared_->armed.store(iteration + 1, std::memory_order_release);
}

void LiveLedger::StopAfter(uint64_t iteration) {
  shared_->stop_after.store(iteration + 1, std::memory_order_release);
}

LiveLedger::Phase LiveLedger::phase() const {
  return shared_->phase.load(std::memory_order_acquire);
}

std::optional<std::string> LiveLedger::Failure() const {
  if (phase() != Phase::kFailed) return std::nullopt;
  return std::string(shared_->failure, strnlen(shared_->failure, kFailureBytesMax));
}

uint64_t LiveLedger::Iterations() const {
  return shared_->iterations.load(std::memory_order_acquire);
}

uint64_t LiveLedger::OperationsVerified() const {
  return shared_->verified.load(std::memory_order_acquire);
}

uint64_t LiveLedger::ElementsWrong() const {
  return shared_->wrong.load(std::memory_order_acquire);
}

std::optional<Instant> LiveLedger::LastReceived() const {
  std::optional<Instant> last;
  for (size_t comm = 0; comm < shared_->received_ns.size(); ++comm) {
    const std::optional<Instant> when = LastReceived(comm);
    if (when && (!last || *when > *last)) last = when;
  }
  return last;
}

std::optional<Instant> LiveLedger::LastReceived(size_t comm) const {
  if (comm >= shared_->received_ns.size()) return std::nullopt;
  return InstantIn(shared_->received_ns[comm]);
}

std::optional<Instant> LiveLedger::FaultBeganAt(size_t fault) const {
  if (fault >= shared_->fault_began_ns.size()) return std::nullopt;
  return InstantIn(shared_->fault_began_ns[fault]);
}

std::optional<Instant> LiveLedger::FaultEndedAt(size_t fault) const {
  if (fault >= shared_->fault_ended_ns.size()) return std::nullopt;
  return InstantIn(shared_->fault_ended_ns[fault]);
}

bool LiveLedger::MayGo() const { return shared_->go.load(std::memory_order_acquire) != 0; }

std::optional<uint64_t> LiveLedger::ArmedFor() const { return NumberIn(shared_->armed); }

std::optional<uint64_t> LiveLedger::LastIteration() const { return NumberIn(shared_->stop_after); }

}  // namespace sentinel
