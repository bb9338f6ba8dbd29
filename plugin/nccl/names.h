// NCCL's static strings as the board's numbers (model/progress.h). NULL and what we do not know
// are 0.
#pragma once

#include <stdint.h>

namespace sentinel::nccl {

uint8_t FuncOf(const char* name);       // "AllReduce"
uint8_t DatatypeOf(const char* name);   // "ncclFloat32"
uint8_t AlgorithmOf(const char* name);  // "RING"
uint8_t ProtocolOf(const char* name);   // "SIMPLE"

}  // namespace sentinel::nccl
