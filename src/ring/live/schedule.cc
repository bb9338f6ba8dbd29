#include "ring/live/schedule.h"

#include <algorithm>

namespace sentinel {
namespace {

size_t DivideUp(size_t a, size_t b) { return (a + b - 1) / b; }

// A run of one loop: where each rank's chunk begins and how long it is.
struct Chunk {
  size_t input = 0;
  size_t output = 0;
  size_t count = 0;
};

void Push(std::vector<SliceMove>* moves, Primitive primitive, const Chunk& chunk) {
  const size_t slice = DivideUp(chunk.count, kSlicesPerChunk);
  for (size_t i = 0; i < kSlicesPerChunk; ++i) {
    const size_t begin = std::min(i * slice, chunk.count);
    const size_t end = std::min(begin + slice, chunk.count);
    moves->push_back({primitive, chunk.input + begin, chunk.output + begin, end - begin});
  }
}

// `chunk_of(k)` is the chunk of rank k (modulo the size) in the loop at hand.
template <typename ChunkOf>
void PushLoop(const OperationShape& shape, std::vector<SliceMove>* moves, ChunkOf chunk_of) {
  const int n = shape.ranks;
  const int self = shape.rank;
  const auto at = [&](int k) { return chunk_of(static_cast<size_t>((k % n + n) % n)); };
  switch (shape.func) {
    case LiveFunc::kAllReduce:
      Push(moves, Primitive::kSend, at(self - 1));
      for (int j = 2; j < n; ++j) Push(moves, Primitive::kRecvReduceSend, at(self - j));
      Push(moves, Primitive::kRecvReduceCopySend, at(self));
      for (int j = 1; j < n - 1; ++j) Push(moves, Primitive::kRecvCopySend, at(self - j));
      Push(moves, Primitive::kRecv, at(self + 1));
      return;
    case LiveFunc::kReduceScatter:
      Push(moves, Primitive::kSend, at(self - 1));
      for (int j = 2; j < n; ++j) Push(moves, Primitive::kRecvReduceSend, at(self - j));
      Push(moves, Primitive::kRecvReduceCopy, at(self));
      return;
    case LiveFunc::kAllGather:
      Push(moves, Primitive::kCopySend, at(self));
      for (int j = 1; j < n - 1; ++j) Push(moves, Primitive::kRecvCopySend, at(self - j));
      Push(moves, Primitive::kRecv, at(self + 1));
      return;
    case LiveFunc::kSend:
    case LiveFunc::kRecv:
      return;
  }
}

std::vector<SliceMove> MessageMoves(const OperationShape& shape) {
  std::vector<SliceMove> moves;
  const size_t step = std::max<size_t>(shape.slice / 2, 1);
  const bool send = shape.func == LiveFunc::kSend;
  for (size_t begin = 0; begin < shape.count; begin += step) {
    const size_t count = std::min(step, shape.count - begin);
    moves.push_back(
        {send ? Primitive::kSend : Primitive::kRecv, send ? begin : 0, send ? 0 : begin, count});
  }
  return moves;
}

}  // namespace

bool Receives(Primitive primitive) {
  return primitive != Primitive::kSend && primitive != Primitive::kCopySend;
}

bool Sends(Primitive primitive) {
  return primitive != Primitive::kRecv && primitive != Primitive::kRecvReduceCopy;
}

std::vector<SliceMove> MovesOf(const OperationShape& shape) {
  if (shape.func == LiveFunc::kSend || shape.func == LiveFunc::kRecv) return MessageMoves(shape);
  std::vector<SliceMove> moves;
  const auto ranks = static_cast<size_t>(shape.ranks);
  const auto channel = static_cast<size_t>(shape.channel);
  const auto channels = static_cast<size_t>(shape.channels);
  const size_t end = shape.count * (channel + 1) / channels;
  const size_t chunk_max = shape.slice * kSlicesPerChunk;
  size_t at = shape.count * channel / channels;
  while (at < end) {
    const size_t left = end - at;
    if (shape.func == LiveFunc::kAllReduce) {
      // The loop's elements are shared out among the ranks' chunks; the last may be short or empty.
      const size_t chunk = std::min(chunk_max, DivideUp(left, ranks));
      PushLoop(shape, &moves, [&](size_t k) {
        const size_t begin = std::min(k * chunk, left);
        const size_t count = std::min(chunk, left - begin);
        return Chunk{at + begin, at + begin, count};
      });
      at += std::min(left, chunk * ranks);
    } else {
      // Every rank has a block of `count` on the long side; the loop takes the same piece of each.
      const size_t count = std::min(chunk_max, left);
      const bool scatter = shape.func == LiveFunc::kReduceScatter;
      PushLoop(shape, &moves, [&](size_t k) {
        const size_t in_block = k * shape.count + at;
        return Chunk{scatter ? in_block : at, scatter ? at : in_block, count};
      });
      at += count;
    }
  }
  return moves;
}

int ChannelsFor(LiveFunc func, size_t count, int ranks, int channels_max, size_t slice) {
  if (func == LiveFunc::kSend || func == LiveFunc::kRecv) return 1;
  const size_t chunk = slice * kSlicesPerChunk;
  const size_t share =
      func == LiveFunc::kAllReduce ? DivideUp(count, static_cast<size_t>(ranks)) : count;
  return static_cast<int>(
      std::clamp(DivideUp(share, chunk), size_t{1}, static_cast<size_t>(channels_max)));
}

size_t InputCount(const OperationShape& shape) {
  switch (shape.func) {
    case LiveFunc::kAllReduce:
    case LiveFunc::kAllGather:
    case LiveFunc::kSend:
      return shape.count;
    case LiveFunc::kReduceScatter:
      return shape.count * static_cast<size_t>(shape.ranks);
    case LiveFunc::kRecv:
      return 0;
  }
  return 0;
}

size_t OutputCount(const OperationShape& shape) {
  switch (shape.func) {
    case LiveFunc::kAllReduce:
    case LiveFunc::kReduceScatter:
    case LiveFunc::kRecv:
      return shape.count;
    case LiveFunc::kAllGather:
      return shape.count * static_cast<size_t>(shape.ranks);
    case LiveFunc::kSend:
      return 0;
  }
  return 0;
}

}  // namespace sentinel
