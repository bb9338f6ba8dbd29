// What a node's agent pays to read the boards of eight ranks.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "board/board_testing.h"
#include "board/decoder.h"

namespace sentinel {
namespace {

constexpr int kRanks = 8;
constexpr uint8_t kChannelsUsed = 32;

// Eight boards in shared memory, each with three communicators that are stuck over 32 channels.
struct Files {
  Files() {
    for (uint64_t rank = 0; rank < kRanks; ++rank) {
      board::TestBoard made;
      for (uint64_t comm = 0; comm < 3; ++comm) made.AddStuckComm(comm, kChannelsUsed, 20);
      std::string path = "/dev/shm/sentinel-bench-XXXXXX";
      const int fd = mkstemp(path.data());
      if (fd < 0 || write(fd, made.memory.data(), board::kBytes) != ssize_t{board::kBytes})
        std::abort();
      unlink(path.c_str());
      fds.push_back(fd);
    }
  }
  ~Files() {
    for (const int fd : fds) close(fd);
  }
  std::vector<int> fds;
};

void ScanHeadersOfEightBoards(benchmark::State& state) {
  const Files files;
  std::vector<std::byte> bytes(kBoardHeaderBytes);
  for (auto _ : state) {
    for (const int fd : files.fds) {
      if (pread(fd, bytes.data(), bytes.size(), 0) < 0) std::abort();
      benchmark::DoNotOptimize(DecodeBoardHeader(bytes));
    }
  }
}
BENCHMARK(ScanHeadersOfEightBoards)->Unit(benchmark::kMicrosecond);

void ReadEightBoards(benchmark::State& state) {
  const Files files;
  std::vector<std::byte> bytes(board::kBytes);
  for (auto _ : state) {
    for (const int fd : files.fds) {
      if (pread(fd, bytes.data(), bytes.size(), 0) < 0) std::abort();
      benchmark::DoNotOptimize(DecodeBoard(bytes));
    }
  }
}
BENCHMARK(ReadEightBoards)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace sentinel
