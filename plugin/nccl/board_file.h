// The file a board lives in: made, reserved and mapped, or not there at all.
#pragma once

#include <stdint.h>

namespace sentinel::nccl {

constexpr int kPathMax = 512;

struct BoardFile {
  char path[kPathMax];
  void* memory;
  const char* failed;  // the step that failed, in words; null: none
  int error;           // its errno
};

// Makes <directory>/gpu-sentinel.<pid>.<start_ticks>, all zero. With `memory` the mapping replaces
// what is there. False: nothing is left behind, and `failed` and `error` say why.
bool CreateBoardFile(const char* directory, int64_t pid, uint64_t start_ticks, BoardFile* file);

// Field 22 of /proc/self/stat; 0 if it cannot be read.
uint64_t OwnStartTicks();

}  // namespace sentinel::nccl
