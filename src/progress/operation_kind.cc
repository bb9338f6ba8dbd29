#include "progress/operation_kind.h"

#include <bit>

namespace sentinel {
namespace {

uint64_t BytesPerElement(DataType type) {
  switch (type) {
    case DataType::kUnknown:
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kFloat8e4m3:
    case DataType::kFloat8e5m2:
      return 1;
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return 2;
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kFloat32:
      return 4;
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kFloat64:
      return 8;
  }
  return 1;
}

}  // namespace

OperationKind KindOf(const Operation& op) {
  const uint64_t bytes =
      op.count > UINT64_MAX / 8 ? UINT64_MAX : op.count * BytesPerElement(op.datatype);
  return {op.func, static_cast<uint8_t>(bytes == 0 ? 0 : std::bit_width(bytes) - 1)};
}

}  // namespace sentinel
