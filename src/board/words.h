// Atomic access to plain words of shared memory, and a pool of slot numbers: what the board's
// writer stands on. Freestanding and lock-free.
#pragma once

#include <stdint.h>

namespace sentinel::board {

template <typename T>
T Load(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
template <typename T>
T LoadAcquire(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
template <typename T, typename V>
void Store(T& word, V value) {
  __atomic_store_n(&word, static_cast<T>(value), __ATOMIC_RELAXED);
}
template <typename T, typename V>
void StoreRelease(T& word, V value) {
  __atomic_store_n(&word, static_cast<T>(value), __ATOMIC_RELEASE);
}
template <typename T, typename V>
T Add(T& word, V value) {  // the value before
  return __atomic_fetch_add(&word, static_cast<T>(value), __ATOMIC_ACQ_REL);
}
template <typename T, typename V>
T Or(T& word, V value) {  // the value before
  return __atomic_fetch_or(&word, static_cast<T>(value), __ATOMIC_ACQ_REL);
}
template <typename T, typename V>
T Exchange(T& word, V value) {
  return __atomic_exchange_n(&word, static_cast<T>(value), __ATOMIC_ACQ_REL);
}
template <typename T, typename A, typename B>
bool Swap(T& word, A expected, B desired) {
  T old = static_cast<T>(expected);
  return __atomic_compare_exchange_n(&word, &old, static_cast<T>(desired), false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

// While it lives the slot reads as being changed. One writer at a time per slot; should two meet,
// a reader may skip the slot until its next change.
template <typename Slot>
class Change {
 public:
  explicit Change(Slot& slot) : slot_(slot), version_(Load(slot.begun) + 1) {
    Store(slot_.begun, version_);
    // A store-store barrier on x86 by itself; a real one on ARM.
    __atomic_thread_fence(__ATOMIC_RELEASE);
  }
  ~Change() { StoreRelease(slot_.ended, version_); }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  Slot& slot_;
  const uint32_t version_;
};

// The numbers 0 to kSize - 1, each given to one taker until it is given back. All zero bytes are a
// full pool. A free-list with a counted head, so that a head that came back is not mistaken for
// one that never went.
template <uint32_t kSize>
class Pool {
 public:
  static constexpr uint32_t kNone = ~0u;

  uint32_t Take() {
    uint64_t head = LoadAcquire(head_);
    while ((head & kIndexMask) != 0) {
      const uint32_t index = static_cast<uint32_t>(head & kIndexMask) - 1;
      const uint64_t next = ((head & ~kIndexMask) + kOneChange + kOneTaken) | Load(next_[index]);
      if (__atomic_compare_exchange_n(&head_, &head, next, true, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE))
        return index;
    }
    if (Load(fresh_) >= kSize) return kNone;
    const uint32_t index = Add(fresh_, 1);
    if (index >= kSize) {
      Add(fresh_, -1);
      return kNone;
    }
    Add(head_, kOneTaken);
    return index;
  }

  void Give(uint32_t index) {
    uint64_t head = LoadAcquire(head_);
    uint64_t next;
    do {
      Store(next_[index], static_cast<uint32_t>(head & kIndexMask));
      next = ((head & ~kIndexMask) + kOneChange - kOneTaken) | (index + 1);
    } while (!__atomic_compare_exchange_n(&head_, &head, next, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
  }

  uint32_t taken() const { return static_cast<uint32_t>(Load(head_) >> 16 & 0xffff); }

 private:
  static constexpr uint64_t kIndexMask = 0xffff;
  static constexpr uint64_t kOneTaken = uint64_t{1} << 16;
  static constexpr uint64_t kOneChange = uint64_t{1} << 32;
  static_assert(kSize < kIndexMask);

  uint64_t head_;   // changes << 32 | taken << 16 | index + 1; 0 in the lowest part: empty
  uint32_t fresh_;  // numbers from here on were never taken
  uint32_t next_[kSize];
};

}  // namespace sentinel::board
