// What a rank process and its parent tell each other: a piece of shared memory per rank.
//
// The parent makes it, the rank process opens it through an inherited descriptor. Every word has
// one writer, so that nobody waits for anybody and a stopped or killed rank leaves it readable.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace sentinel {

class Ledger {
 public:
  static Result<Ledger> Create(size_t callbacks);
  static Result<Ledger> Open(int fd, size_t callbacks);

  Ledger(Ledger&& other) noexcept;
  Ledger& operator=(Ledger&&) = delete;
  ~Ledger();

  int fd() const { return fd_; }

  // Written by the rank process.
  void Ready();
  void Fail(std::string_view why);        // cut to kFailureBytesMax
  void Made(size_t index, Instant when);  // in order, each once

  // Written by the parent.
  void StartAt(Instant start);

  bool IsReady() const;
  std::optional<std::string> Failure() const;
  std::optional<Instant> Start() const;
  size_t MadeCount() const;
  Instant MadeAt(size_t index) const;  // index < MadeCount()

 private:
  static constexpr size_t kFailureBytesMax = 480;
  enum class Phase : uint32_t { kStarting, kReady, kFailed };
  struct Shared {
    std::atomic<Phase> phase;
    std::atomic<uint64_t> made;
    std::atomic<int64_t> start_ns;  // 0: not yet
    char failure[kFailureBytesMax];
    std::atomic<int64_t> made_at_ns[1];  // as many as there are callbacks
  };
  static_assert(std::atomic<int64_t>::is_always_lock_free);

  Ledger(int fd, size_t bytes, void* memory)
      : fd_(fd), bytes_(bytes), shared_(static_cast<Shared*>(memory)) {}
  static size_t BytesFor(size_t callbacks);
  static Result<Ledger> Map(int fd, size_t callbacks);

  int fd_;
  size_t bytes_;
  Shared* shared_;
};

}  // namespace sentinel
