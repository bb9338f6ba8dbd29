// The CPU's time stamp counter: a hint for people who read a board, judged by nobody.
#pragma once

#include <stdint.h>

namespace sentinel::nccl {

inline uint64_t Tsc() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return 0;
#endif
}

}  // namespace sentinel::nccl
