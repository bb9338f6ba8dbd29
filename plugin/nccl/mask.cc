#include "mask.h"

namespace sentinel::nccl {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c; }

// `name` is in lower case. The C library's comparison would follow the host program's locale.
bool Is(const char* text, const char* name) {
  for (; *text != '\0' && Lower(*text) == *name; ++text, ++name) {
  }
  return *text == *name;
}

// 16 if it is no digit.
unsigned Digit(char c) {
  const char lower = Lower(c);
  if (lower >= '0' && lower <= '9') return static_cast<unsigned>(lower - '0');
  if (lower >= 'a' && lower <= 'f') return 10 + static_cast<unsigned>(lower - 'a');
  return 16;
}

// False if it is neither a decimal number nor "0x" and hexadecimal digits, of 64 bits.
bool ParseNumber(const char* text, uint64_t* value) {
  const unsigned base = text[0] == '0' && Lower(text[1]) == 'x' ? 16 : 10;
  if (base == 16) text += 2;
  if (*text == '\0') return false;
  *value = 0;
  for (; *text != '\0'; ++text) {
    const unsigned digit = Digit(*text);
    if (digit >= base || *value > (UINT64_MAX - digit) / base) return false;
    *value = *value * base + digit;
  }
  return true;
}

}  // namespace

MaskChoice ChooseMask(const char* setting, int abi, uint32_t nccl_version) {
  const uint64_t known = KnownTypes(abi);
  uint64_t full = kFullMask;
  if (nccl_version >= kSlowKernelsFirst && nccl_version <= kSlowKernelsLast) full &= ~kKernelCh;
  if (setting == nullptr || setting[0] == '\0' || Is(setting, "full")) return {full & known, true};
  if (Is(setting, "light")) return {full & ~kKernelCh & known, true};
  if (Is(setting, "off") || Is(setting, "none")) return {0, true};
  uint64_t mask = 0;
  if (ParseNumber(setting, &mask) && (mask & ~KnownTypes(kNewestAbi)) == 0 &&
      (mask == 0 || (mask & known) != 0))
    return {mask & known, true};
  return {full & known, false};
}

}  // namespace sentinel::nccl
