// What a live rank and its parent tell each other: a piece of shared memory per rank.
//
// The parent makes it, the rank opens it through an inherited descriptor. Every word has one
// writer, nobody waits for anybody, and a stopped or killed rank leaves it readable. Instants are
// of the monotonic clock, which all processes of a machine share.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "ring/live/plan.h"

namespace sentinel {

// What all ranks of a job are told about an iteration lies so far ahead of the newest, so that all
// hear of it in time.
inline constexpr uint64_t kIterationsAhead = 2;

class LiveLedger {
 public:
  enum class Phase : uint32_t {
    kStarting,  // connecting and initialising communicators
    kReady,     // waits for GoAhead
    kRunning,
    kFinishing,  // destroys its communicators
    kFinished,   // communicators and plugin are gone; the process ends with 0
    kFailed,     // Failure() says why; the process ends with 1
  };

  static Result<LiveLedger> Create();
  static Result<LiveLedger> Open(int fd);

  LiveLedger(LiveLedger&& other) noexcept;
  LiveLedger& operator=(LiveLedger&&) = delete;
  ~LiveLedger();

  int fd() const { return fd_; }

  // Written by the rank.
  void Enter(Phase phase);
  void Fail(std::string_view why);           // cut to kFailureBytesMax; the first stays
  void Iterate(uint64_t iteration);          // it begins, from 0
  void Verified(size_t elements_wrong);      // one more operation's result was looked at
  void Received(size_t comm, Instant when);  // a receive step or, in a node, a chunk came forward
  void FaultBegan(size_t fault, Instant when);  // index into JobPlan::faults; the first time stays
  void FaultEnded(size_t fault, Instant when);

  // Written by the parent.
  void GoAhead();  // iterate
  // Faults without an iteration happen in the first one from `iteration` on that the rank has not
  // begun. Once. For the same iteration on all ranks, leave them one or two ahead of the newest.
  void Arm(uint64_t iteration);
  // No iteration after `iteration` is begun: the rank finishes. For a clean end tell all ranks the
  // same, one or two ahead of the newest.
  void StopAfter(uint64_t iteration);

  // Read by either.
  Phase phase() const;
  std::optional<std::string> Failure() const;
  uint64_t Iterations() const;  // begun so far
  uint64_t OperationsVerified() const;
  uint64_t ElementsWrong() const;
  std::optional<Instant> LastReceived() const;  // over all communicators
  std::optional<Instant> LastReceived(size_t comm) const;
  std::optional<Instant> FaultBeganAt(size_t fault) const;
  std::optional<Instant> FaultEndedAt(size_t fault) const;
  bool MayGo() const;
  std::optional<uint64_t> ArmedFor() const;
  std::optional<uint64_t> LastIteration() const;

 private:
  static constexpr size_t kFailureBytesMax = 480;
  struct Shared {
    std::atomic<Phase> phase;
    std::atomic<uint64_t> iterations;
    std::atomic<uint64_t> verified;
    std::atomic<uint64_t> wrong;
    std::array<std::atomic<int64_t>, JobPlan::kCommsMax> received_ns;  // 0: never
    std::array<std::atomic<int64_t>, JobPlan::kFaultsMax> fault_began_ns;
    std::array<std::atomic<int64_t>, JobPlan::kFaultsMax> fault_ended_ns;
    std::atomic<uint32_t> go;
    std::atomic<uint64_t> armed;       // one more than the iteration; 0: not
    std::atomic<uint64_t> stop_after;  // the same
    char failure[kFailureBytesMax];
  };
  static_assert(std::atomic<int64_t>::is_always_lock_free);

  LiveLedger(int fd, Shared* shared) : fd_(fd), shared_(shared) {}
  static Result<LiveLedger> Map(int fd);

  int fd_;
  Shared* shared_;
};

}  // namespace sentinel
