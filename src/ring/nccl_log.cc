#include "ring/nccl_log.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace sentinel {
namespace {

constexpr int kNcclLogWarn = 2;

}  // namespace

void LogAsNccl(int level, unsigned long, const char* file, int line, const char* format, ...) {
  static const bool verbose = std::getenv("NCCL_DEBUG") != nullptr;
  if (level > kNcclLogWarn && !verbose) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const char* rank = std::getenv("RANK");
  std::fprintf(stderr, "rank=%s nccl_log_level=%d at=%s:%d %s\n", rank == nullptr ? "?" : rank,
               level, file == nullptr ? "?" : file, line, text);
}

}  // namespace sentinel
