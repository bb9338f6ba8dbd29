// In which order a kernel moves the data of an operation: the primitives of NCCL's ring algorithms,
// cut into chunks and slices as NCCL cuts them. Pure.
//
// Unit is the float32 element. A chunk is two slices; each slice is one step of a proxy, and an
// empty one is passed on like any other. Send and Recv go in steps of half a slice.
#pragma once

#include <cstddef>
#include <vector>

#include "model/communicator.h"
#include "ring/live/plan.h"

namespace sentinel {

constexpr size_t kSlicesPerChunk = 2;
constexpr size_t kRingSlots = 4;     // slices of a collective that one buffer holds
constexpr size_t kMessageSlots = 8;  // steps of Send and Recv that one buffer holds

enum class Primitive {
  kSend,                // input -> next
  kCopySend,            // input -> output, next
  kRecv,                // previous -> output
  kRecvCopySend,        // previous -> output, next
  kRecvReduceSend,      // previous + input -> next
  kRecvReduceCopy,      // previous + input -> output
  kRecvReduceCopySend,  // previous + input -> output, next
};

bool Receives(Primitive primitive);
bool Sends(Primitive primitive);

// One slice's worth of work. What a primitive does not touch is 0.
struct SliceMove {
  Primitive primitive = Primitive::kSend;
  size_t input = 0;   // offset into the rank's input
  size_t output = 0;  // offset into its output
  size_t count = 0;
};

// One rank's part of one operation, and which channel of it.
struct OperationShape {
  LiveFunc func = LiveFunc::kAllReduce;
  size_t count = 0;  // as in LiveCall
  Rank rank = 0;     // in the communicator
  int ranks = 0;
  int channel = 0;
  int channels = 1;
  size_t slice = 0;  // elements; a step of Send and Recv is half of it
};

// All moves of that channel in order. Every rank of a ring has as many that receive, and as many
// that send, as every other with the same count.
std::vector<SliceMove> MovesOf(const OperationShape& shape);

// How many channels an operation of this size uses, of `channels_max`: as many as get at least part
// of a chunk for every rank. Send and Recv use one.
int ChannelsFor(LiveFunc func, size_t count, int ranks, int channels_max, size_t slice);

size_t InputCount(const OperationShape& shape);
size_t OutputCount(const OperationShape& shape);

}  // namespace sentinel
