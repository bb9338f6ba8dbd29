// A ring buffer of slices between one producer and one consumer: kernel and proxy of one rank, or
// the kernels of two ranks of a node. Lock-free; counts never wrap and never fall.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "ring/live/bell.h"

namespace sentinel {

struct FifoShape {
  size_t slots = 0;  // at most kSlotsMax
  size_t slot_bytes = 0;

  static constexpr size_t kSlotsMax = 8;
};

class Fifo {
 public:
  static size_t BytesFor(const FifoShape& shape);

  // Over memory of BytesFor() bytes, zeroed once by somebody, which outlives it.
  Fifo(void* memory, const FifoShape& shape);

  size_t slots() const { return shape_.slots; }
  size_t slot_bytes() const { return shape_.slot_bytes; }

  // Slices ever produced and consumed.
  uint64_t Produced() const { return head_->produced.load(std::memory_order_acquire); }
  uint64_t Consumed() const { return head_->consumed.load(std::memory_order_acquire); }
  bool HasRoom() const { return Produced() - Consumed() < shape_.slots; }
  bool HasData() const { return Produced() != Consumed(); }

  // Where the n-th slice ever lies. The producer fills slices up to Consumed()+slots()-1 and hands
  // them over in order; the consumer reads from Consumed() up to Produced()-1.
  std::byte* Slot(uint64_t n) { return data_ + n % shape_.slots * shape_.slot_bytes; }
  size_t Bytes(uint64_t n) const {
    return head_->bytes[n % shape_.slots].load(std::memory_order_relaxed);
  }
  void Produce(size_t bytes);
  void Consume();

 private:
  struct Head {
    alignas(64) std::atomic<uint64_t> produced;
    alignas(64) std::atomic<uint64_t> consumed;
    alignas(64) std::atomic<uint32_t> bytes[FifoShape::kSlotsMax];
  };

  Head* head_;
  std::byte* data_;
  FifoShape shape_;
};

// A kernel's end of a buffer, and whom to wake after a slice was moved.
struct FifoEnd {
  Fifo fifo;
  Bell* other;
};

}  // namespace sentinel
