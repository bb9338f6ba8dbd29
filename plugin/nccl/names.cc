#include "names.h"

namespace sentinel::nccl {
namespace {

bool Equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

// The position of a name, counted from 1.
template <uint8_t kCount>
uint8_t Find(const char* const (&names)[kCount], const char* name) {
  if (name == nullptr) return 0;
  for (uint8_t i = 0; i < kCount; ++i) {
    if (Equal(names[i], name)) return i + 1;
  }
  return 0;
}

}  // namespace

uint8_t FuncOf(const char* name) {
  static const char* const kNames[] = {"AllGather", "AllGatherV",    "AllReduce", "AlltoAll",
                                       "Broadcast", "Gather",        "PutSignal", "Recv",
                                       "Reduce",    "ReduceScatter", "Scatter",   "Send",
                                       "SendRecv",  "Signal",        "WaitSignal"};
  return Find(kNames, name);
}

uint8_t DatatypeOf(const char* name) {
  static const char* const kNames[] = {"ncclInt8",     "ncclUint8",      "ncclInt32",
                                       "ncclUint32",   "ncclInt64",      "ncclUint64",
                                       "ncclFloat16",  "ncclFloat32",    "ncclFloat64",
                                       "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
  return Find(kNames, name);
}

uint8_t AlgorithmOf(const char* name) {
  static const char* const kNames[] = {
      "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
  return Find(kNames, name);
}

uint8_t ProtocolOf(const char* name) {
  static const char* const kNames[] = {"LL", "LL128", "SIMPLE"};
  return Find(kNames, name);
}

}  // namespace sentinel::nccl
