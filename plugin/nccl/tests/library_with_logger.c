// Stands for libnccl: a library that owns a logger and knows its version.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int test_version = 22809;
int test_lines = 0;
char test_last_line[512];

int ncclGetVersion(int* version) {
  *version = test_version;
  return 0;
}

void test_logger(int level, unsigned long flags, const char* file, int line, const char* format,
                 ...) {
  (void)level;
  (void)flags;
  (void)file;
  (void)line;
  ++test_lines;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(test_last_line, sizeof(test_last_line), format, arguments);
  va_end(arguments);
}
