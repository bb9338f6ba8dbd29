// What the ranks of a live job send each other, and what must come of it. Pure.
//
// Small whole numbers in float32, drawn from a seed, so that sums are exact whatever their order.
// A rank's number at a place is base(place) * weight(rank) + offset(rank): the sum over any ranks
// is known without adding them up, and a contribution that is lost or counted twice shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/communicator.h"

namespace sentinel {

class Pattern {
 public:
  // One operation; `name` tells it from every other of the job, the same on all its ranks.
  Pattern(uint64_t seed, uint64_t name);

  // What `rank` has at `place`. For up to kRanksMax ranks every sum is exact in float32.
  static constexpr int kRanksMax = 1024;
  float At(Rank rank, size_t place) const;
  float SumAt(int ranks, size_t place) const;  // over ranks 0 … ranks-1

  void Fill(Rank rank, float* data, size_t count) const;  // places 0 … count-1

  // How many of `data` are not what they must be; `first` is the place of the first of them.
  size_t WrongOfRank(Rank rank, const float* data, size_t count, size_t first) const;
  size_t WrongOfSum(int ranks, const float* data, size_t count, size_t first) const;

 private:
  uint64_t Draw(uint64_t what) const;
  uint32_t Base(size_t place) const;
  uint32_t Weight(Rank rank) const;
  uint32_t Offset(Rank rank) const;

  uint64_t key_;
};

// Mixes what makes an operation one of a kind into its name.
uint64_t MixName(uint64_t name, uint64_t more);

}  // namespace sentinel
