// What kind of operation it is, as far as its habits go: operations of one function and one size,
// to a power of two, behave alike.
#pragma once

#include <compare>
#include <cstdint>

#include "model/progress.h"

namespace sentinel {

struct OperationKind {
  Func func = Func::kUnknown;
  uint8_t size_log2 = 0;
  auto operator<=>(const OperationKind&) const = default;
};
OperationKind KindOf(const Operation& op);

}  // namespace sentinel
