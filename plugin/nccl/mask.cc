#include "mask.h"

#include <string.h>

namespace sentinel::nccl {
namespace {

// False if it is no hexadecimal number of 64 bits.
bool ParseHex(const char* text, uint64_t* value) {
  if (text[0] != '0' || (text[1] != 'x' && text[1] != 'X') || text[2] == '\0') return false;
  *value = 0;
  int digits = 0;
  for (const char* c = text + 2; *c != '\0'; ++c, ++digits) {
    uint64_t digit;
    if (*c >= '0' && *c <= '9') {
      digit = static_cast<uint64_t>(*c - '0');
    } else if ((*c | 32) >= 'a' && (*c | 32) <= 'f') {
      digit = 10 + static_cast<uint64_t>((*c | 32) - 'a');
    } else {
      return false;
    }
    *value = *value << 4 | digit;
  }
  return digits <= 16;
}

}  // namespace

MaskChoice ChooseMask(const char* setting, int abi, uint32_t nccl_version) {
  const uint64_t known = KnownTypes(abi);
  uint64_t full = kFullMask;
  if (nccl_version >= kSlowKernelsFirst && nccl_version <= kSlowKernelsLast) full &= ~kKernelCh;
  if (setting == nullptr || setting[0] == '\0' || strcmp(setting, "full") == 0)
    return {full & known, true};
  if (strcmp(setting, "light") == 0) return {full & ~kKernelCh & known, true};
  if (strcmp(setting, "off") == 0) return {0, true};
  uint64_t mask = 0;
  if (ParseHex(setting, &mask)) return {mask & known, true};
  return {full & known, false};
}

}  // namespace sentinel::nccl
