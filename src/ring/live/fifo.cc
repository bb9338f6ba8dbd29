#include "ring/live/fifo.h"

#include "base/check.h"

namespace sentinel {

size_t Fifo::BytesFor(const FifoShape& shape) {
  return sizeof(Head) + shape.slots * shape.slot_bytes;
}

Fifo::Fifo(void* memory, const FifoShape& shape)
    : head_(static_cast<Head*>(memory)),
      data_(static_cast<std::byte*>(memory) + sizeof(Head)),
      shape_(shape) {
  CHECK(shape.slots > 0 && shape.slots <= FifoShape::kSlotsMax);
}

void Fifo::Produce(size_t bytes) {
  const uint64_t n = head_->produced.load(std::memory_order_relaxed);
  head_->bytes[n % shape_.slots].store(static_cast<uint32_t>(bytes), std::memory_order_relaxed);
  head_->produced.store(n + 1, std::memory_order_release);
}

void Fifo::Consume() {
  head_->consumed.store(head_->consumed.load(std::memory_order_relaxed) + 1,
                        std::memory_order_release);
}

}  // namespace sentinel
