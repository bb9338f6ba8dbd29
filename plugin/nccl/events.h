// NCCL's callbacks turned into strokes on the board. One template for all ABI versions; the
// versions differ in where things lie and in who is whose parent.
#pragma once

#include "abi.h"

namespace sentinel::nccl {

template <int kAbi>
NcclResult StartEvent(void* context, void** handle, void* descriptor);
NcclResult StopEvent(void* handle);
// State arguments are never looked at: for some states they are rubbish, and we need none.
NcclResult RecordEventState(void* handle, int state, void* arguments);
NcclResult Finalize(void* context);

}  // namespace sentinel::nccl
