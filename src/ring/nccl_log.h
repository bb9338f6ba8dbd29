// The logger that NCCL hands to its profiler, as a rank of ours has it: with NCCL_DEBUG unset NCCL
// shows nothing, a rank of ours at least warnings.
#pragma once

namespace sentinel {

void LogAsNccl(int level, unsigned long flags, const char* file, int line, const char* format, ...);

}  // namespace sentinel
