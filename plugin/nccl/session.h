// The plugin's one session with its process: board, communicators, and whether we are on at all.
//
// Open and Close run on NCCL's init and destroy threads, may use system calls and exclude each
// other. Everything else is for callbacks.
#pragma once

#include <stdint.h>

#include "abi.h"
#include "board/writer.h"
#include "handle.h"

namespace sentinel::nccl {

struct CommArguments {
  int abi = 0;
  uint64_t comm_id = 0;
  const char* name = nullptr;
  int nodes = 0;
  int nranks = 0;
  int rank = -1;
  Logger logger = nullptr;  // null before v4
};

// Always succeeds: what cannot be watched gets a context that is accepted and ignored.
void Open(const CommArguments& arguments, void** context, int* mask);
void Close(void* context);

// The board, or null where callbacks must do nothing: we are off, or this is a forked child.
board::Writer* Watching();
uint64_t Tag();
int64_t OwnPid();
// The next launch's number, of which a handle carries kGenerationMask.
uint32_t NextPlan();

}  // namespace sentinel::nccl
