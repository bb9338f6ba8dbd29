#include "ring/live/pattern.h"

namespace sentinel {
namespace {

// SplitMix64's finaliser: every bit of the result depends on every bit of `x`.
uint64_t Scramble(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constexpr uint64_t kWeights = uint64_t{1} << 32;
constexpr uint64_t kOffsets = uint64_t{2} << 32;
constexpr uint32_t kBaseMax = 1023;
constexpr uint32_t kWeightMax = 15;  // 1024 ranks × 15 × 1023 + 1024 × 255 stays below 2^24
constexpr uint32_t kOffsetMax = 255;
static_assert(Pattern::kRanksMax * (kWeightMax * kBaseMax + kOffsetMax) <= 1 << 24);

}  // namespace

uint64_t MixName(uint64_t name, uint64_t more) {
  return Scramble(name * 0x9e3779b97f4a7c15 + more + 1);
}

Pattern::Pattern(uint64_t seed, uint64_t name) : key_(MixName(Scramble(seed), name)) {}

uint64_t Pattern::Draw(uint64_t what) const { return Scramble(key_ + what * 0x9e3779b97f4a7c15); }

// Cheap, since it is asked for every element: one multiplication and the bits that vary most.
uint32_t Pattern::Base(size_t place) const {
  return static_cast<uint32_t>(((place + 1) * (key_ | 1)) >> 40) & kBaseMax;
}

uint32_t Pattern::Weight(Rank rank) const {
  return 1 + static_cast<uint32_t>(Draw(kWeights + static_cast<uint64_t>(rank)) % kWeightMax);
}

uint32_t Pattern::Offset(Rank rank) const {
  return static_cast<uint32_t>(Draw(kOffsets + static_cast<uint64_t>(rank)) & kOffsetMax);
}

float Pattern::At(Rank rank, size_t place) const {
  return static_cast<float>(Base(place) * Weight(rank) + Offset(rank));
}

float Pattern::SumAt(int ranks, size_t place) const {
  uint32_t weights = 0;
  uint32_t offsets = 0;
  for (Rank rank = 0; rank < ranks; ++rank) {
    weights += Weight(rank);
    offsets += Offset(rank);
  }
  return static_cast<float>(Base(place) * weights + offsets);
}

void Pattern::Fill(Rank rank, float* data, size_t count) const {
  const uint32_t weight = Weight(rank);
  const uint32_t offset = Offset(rank);
  for (size_t i = 0; i < count; ++i) data[i] = static_cast<float>(Base(i) * weight + offset);
}

size_t Pattern::WrongOfRank(Rank rank, const float* data, size_t count, size_t first) const {
  const uint32_t weight = Weight(rank);
  const uint32_t offset = Offset(rank);
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    wrong += data[i] != static_cast<float>(Base(first + i) * weight + offset) ? 1 : 0;
  }
  return wrong;
}

size_t Pattern::WrongOfSum(int ranks, const float* data, size_t count, size_t first) const {
  uint32_t weights = 0;
  uint32_t offsets = 0;
  for (Rank rank = 0; rank < ranks; ++rank) {
    weights += Weight(rank);
    offsets += Offset(rank);
  }
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    wrong += data[i] != static_cast<float>(Base(first + i) * weights + offsets) ? 1 : 0;
  }
  return wrong;
}

}  // namespace sentinel
