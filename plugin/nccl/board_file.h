// The memory a board lives in, and the file by which readers find it: made, reserved and mapped, or
// not there at all.
#pragma once

#include <stdint.h>
#include <sys/types.h>

namespace sentinel::nccl {

constexpr int kPathMax = 512;

struct BoardFile {
  char path[kPathMax];
  void* memory;
  const char* failed;  // the step that failed, in words; null: none
  int error;           // its errno
  // The sealed memory's descriptor, by which readers open it, and what it is, since the process may
  // have closed it and opened something else under its number; -1: the file is the board itself.
  int fd;
  dev_t device;
  ino_t inode;
};

// Makes <directory>/gpu-sentinel.<pid>.<start_ticks>, and memory that is all zero. With `memory`
// the mapping replaces what is there. False: nothing is left behind, and `failed` and `error` say
// why.
//
// The memory is sealed: whoever finds it, root included, can neither shrink nor write it, so that
// no other process can make a page of it go away under us. Where the kernel has no such memory the
// file itself is mapped, and whoever may write to it (this user and root) can kill the process with
// it.
bool CreateBoardFile(const char* directory, int64_t pid, uint64_t start_ticks, BoardFile* file);

// The file goes, the mapping stays.
void RemoveBoardFile(BoardFile* file);

// Field 22 of /proc/self/stat; 0 if it cannot be read.
uint64_t OwnStartTicks();

}  // namespace sentinel::nccl
