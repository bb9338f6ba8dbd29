#include "ring/live/host_work.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "ring/live/termination.h"

namespace sentinel {
namespace {

constexpr Duration kBurst = std::chrono::milliseconds(5);  // between two looks at the clock
constexpr size_t kBlock = 1 << 20;
constexpr off_t kCheckpointMax = 64 << 20;  // then it is written over
constexpr Duration kPerBlock = std::chrono::milliseconds(40);
constexpr Duration kDecode = std::chrono::milliseconds(12);  // of a block that was read
constexpr Duration kLoaderPause = std::chrono::milliseconds(8);
constexpr size_t kSamples = 4 * kBlock;  // in the loader's file
constexpr int kLookMs = 200;

volatile uint64_t sink;  // NOLINT: keeps the compiler from leaving the work out

void Burn(Duration how_long) {
  const Instant until = MonotonicNow() + how_long;
  uint64_t x = 88172645463325252;
  while (MonotonicNow() < until) {
    for (int i = 0; i < 20000; ++i) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
    }
  }
  sink = x;
}

void Nap(Duration how_long) {
  timespec nap{};
  nap.tv_nsec = static_cast<long>(how_long.count());
  nanosleep(&nap, nullptr);
}

[[noreturn]] void LoaderBody(const std::string& path, int ask, int answer) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "loader");
  std::vector<char> block(kBlock);
  for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<char>(i * 2654435761U >> 13);
  const OwnedFd file(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  bool readable = file.open();
  for (size_t at = 0; readable && at < kSamples; at += kBlock) {
    readable = pwrite(file.get(), block.data(), kBlock, static_cast<off_t>(at)) > 0;
  }
  int64_t ns = 0;
  while (read(ask, &ns, sizeof ns) == static_cast<ssize_t>(sizeof ns)) {
    const Instant until = MonotonicNow() + Duration(ns);
    for (size_t at = 0; MonotonicNow() < until; at = (at + kBlock) % kSamples) {
      const ssize_t got = pread(file.get(), block.data(), kBlock, static_cast<off_t>(at));
      if (got <= 0) _exit(1);
      Burn(kDecode);
      Nap(kLoaderPause);
    }
    const char done = 1;
    if (write(answer, &done, 1) != 1) break;
  }
  _exit(0);
}

}  // namespace

bool Compute(Duration how_long) {
  const Instant until = MonotonicNow() + how_long;
  while (MonotonicNow() < until) {
    if (ToldToEnd()) return false;
    Burn(kBurst);
  }
  return true;
}

bool WriteCheckpoint(const std::string& path, Duration how_long) {
  const OwnedFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const std::vector<char> block(kBlock, 'w');
  const Instant until = MonotonicNow() + how_long;
  bool told = false;
  for (off_t at = 0; MonotonicNow() < until && !told; at = (at + kBlock) % kCheckpointMax) {
    [[maybe_unused]] const ssize_t written = pwrite(file.get(), block.data(), kBlock, at);
    told = !SleepUnlessTold(kPerBlock);
  }
  unlink(path.c_str());
  return !told;
}

Result<Loader> Loader::Fork(const std::string& path) {
  std::array<int, 2> ask{};
  std::array<int, 2> answer{};
  if (pipe2(ask.data(), O_CLOEXEC) != 0 || pipe2(answer.data(), O_CLOEXEC) != 0) {
    return Error{ErrorCode::kIo, std::string("pipe: ") + std::strerror(errno)};
  }
  OwnedFd ask_read(ask[0]);
  OwnedFd ask_write(ask[1]);
  OwnedFd answer_read(answer[0]);
  OwnedFd answer_write(answer[1]);
  const pid_t pid = fork();
  if (pid < 0) return Error{ErrorCode::kIo, std::string("fork: ") + std::strerror(errno)};
  if (pid == 0) {
    ask_write.Close();
    answer_read.Close();
    LoaderBody(path, ask_read.get(), answer_write.get());
  }
  return Loader(pid, std::move(ask_write), std::move(answer_read));
}

Loader::Loader(Loader&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      ask_(std::move(other.ask_)),
      answer_(std::move(other.answer_)) {}

Loader::~Loader() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool Loader::Load(Duration how_long) {
  const int64_t ns = how_long.count();
  if (write(ask_.get(), &ns, sizeof ns) != static_cast<ssize_t>(sizeof ns)) return true;
  for (;;) {
    if (ToldToEnd()) return false;
    pollfd answer{answer_.get(), POLLIN, 0};
    if (poll(&answer, 1, kLookMs) <= 0) continue;
    char done = 0;
    [[maybe_unused]] const ssize_t got = read(answer_.get(), &done, 1);
    return true;
  }
}

}  // namespace sentinel
