#include "ring/live/schedule.h"

#include <gtest/gtest.h>

#include <deque>

namespace sentinel {
namespace {

constexpr size_t kSlice = 8;

// All ranks of a ring, each carrying out its moves with queues in place of a network.
class PaperRing {
 public:
  PaperRing(LiveFunc func, int ranks, size_t count, int channels) {
    for (int rank = 0; rank < ranks; ++rank) {
      OperationShape shape{func, count, rank, ranks, 0, channels, kSlice};
      inputs_.emplace_back();
      for (size_t i = 0; i < InputCount(shape); ++i) inputs_.back().push_back(In(rank, i));
      outputs_.emplace_back(OutputCount(shape), -1.0F);
    }
    for (int channel = 0; channel < channels; ++channel) {
      std::vector<std::vector<SliceMove>> moves;
      for (int rank = 0; rank < ranks; ++rank) {
        moves.push_back(MovesOf({func, count, rank, ranks, channel, channels, kSlice}));
      }
      Run(moves);
    }
  }

  static float In(int rank, size_t i) { return static_cast<float>((rank + 1) * 100 + i % 50); }

  bool stuck() const { return stuck_; }
  const std::vector<float>& output(int rank) const { return outputs_[static_cast<size_t>(rank)]; }
  size_t open_slices_max() const { return open_slices_max_; }

 private:
  void Run(const std::vector<std::vector<SliceMove>>& moves) {
    const size_t n = moves.size();
    std::vector<std::deque<std::vector<float>>> into(n);
    std::vector<size_t> at(n, 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t r = 0; r < n; ++r) {
        if (at[r] == moves[r].size()) continue;
        const SliceMove& move = moves[r][at[r]];
        const size_t next = (r + 1) % n;
        if (Receives(move.primitive) && into[r].empty()) continue;
        if (Sends(move.primitive) && into[next].size() == kRingSlots) continue;
        Carry(r, move, &into[r], &into[next]);
        open_slices_max_ = std::max(open_slices_max_, into[next].size());
        ++at[r];
        moved = true;
      }
    }
    for (size_t r = 0; r < n; ++r) stuck_ |= at[r] != moves[r].size() || !into[r].empty();
  }

  void Carry(size_t r, const SliceMove& move, std::deque<std::vector<float>>* in,
             std::deque<std::vector<float>>* out) {
    std::vector<float> data(move.count);
    const bool reduces = move.primitive == Primitive::kRecvReduceSend ||
                         move.primitive == Primitive::kRecvReduceCopy ||
                         move.primitive == Primitive::kRecvReduceCopySend;
    const bool writes =
        move.primitive != Primitive::kSend && move.primitive != Primitive::kRecvReduceSend;
    for (size_t i = 0; i < move.count; ++i) {
      if (Receives(move.primitive)) data[i] += in->front()[i];
      if (reduces || !Receives(move.primitive)) data[i] += inputs_[r][move.input + i];
      if (writes) outputs_[r][move.output + i] = data[i];
    }
    if (Receives(move.primitive)) {
      EXPECT_EQ(in->front().size(), move.count);
      in->pop_front();
    }
    if (Sends(move.primitive)) out->push_back(std::move(data));
  }

  std::vector<std::vector<float>> inputs_;
  std::vector<std::vector<float>> outputs_;
  bool stuck_ = false;
  size_t open_slices_max_ = 0;
};

size_t Count(const std::vector<SliceMove>& moves, bool (*which)(Primitive)) {
  size_t count = 0;
  for (const SliceMove& move : moves) count += which(move.primitive) ? 1 : 0;
  return count;
}

TEST(Schedule, AnAllReduceGivesEveryRankTheSumOfAll) {
  for (int ranks : {2, 3, 4, 8}) {
    for (size_t count : {1U, 7U, 64U, 129U, 1000U}) {
      PaperRing ring(LiveFunc::kAllReduce, ranks, count, 2);
      ASSERT_FALSE(ring.stuck()) << ranks << " ranks, " << count;
      for (int rank = 0; rank < ranks; ++rank) {
        for (size_t i = 0; i < count; ++i) {
          float sum = 0;
          for (int r = 0; r < ranks; ++r) sum += PaperRing::In(r, i);
          ASSERT_EQ(ring.output(rank)[i], sum) << ranks << " ranks, " << count << " at " << i;
        }
      }
    }
  }
}

TEST(Schedule, AReduceScatterGivesEveryRankTheSumOfItsOwnBlock) {
  for (int ranks : {2, 3, 8}) {
    const size_t count = 77;
    PaperRing ring(LiveFunc::kReduceScatter, ranks, count, 2);
    ASSERT_FALSE(ring.stuck());
    for (int rank = 0; rank < ranks; ++rank) {
      for (size_t i = 0; i < count; ++i) {
        float sum = 0;
        for (int r = 0; r < ranks; ++r) {
          sum += PaperRing::In(r, static_cast<size_t>(rank) * count + i);
        }
        ASSERT_EQ(ring.output(rank)[i], sum);
      }
    }
  }
}

TEST(Schedule, AnAllGatherGivesEveryRankTheBlocksOfAll) {
  for (int ranks : {2, 3, 8}) {
    const size_t count = 77;
    PaperRing ring(LiveFunc::kAllGather, ranks, count, 2);
    ASSERT_FALSE(ring.stuck());
    for (int rank = 0; rank < ranks; ++rank) {
      for (size_t i = 0; i < count * static_cast<size_t>(ranks); ++i) {
        ASSERT_EQ(ring.output(rank)[i], PaperRing::In(static_cast<int>(i / count), i % count));
      }
    }
  }
}

// The recordings of NCCL 2.28.9 have 12 steps each way for four ranks and one loop.
TEST(Schedule, AnAllReduceOfFourRanksHasTwelveStepsEachWay) {
  const std::vector<SliceMove> moves = MovesOf({LiveFunc::kAllReduce, 60, 1, 4, 0, 1, kSlice});
  EXPECT_EQ(Count(moves, Receives), 12U);
  EXPECT_EQ(Count(moves, Sends), 12U);
}

TEST(Schedule, TheFirstTwoSlicesNeedNothingFromOthersAndTheNextNeedTheFirst) {
  for (LiveFunc func : {LiveFunc::kAllReduce, LiveFunc::kReduceScatter, LiveFunc::kAllGather}) {
    const std::vector<SliceMove> moves = MovesOf({func, 60, 1, 4, 0, 1, kSlice});
    EXPECT_FALSE(Receives(moves[0].primitive));
    EXPECT_FALSE(Receives(moves[1].primitive));
    EXPECT_TRUE(Receives(moves[2].primitive) && Sends(moves[2].primitive));
    EXPECT_FALSE(Sends(moves.back().primitive));
  }
}

TEST(Schedule, HalfTheCountHasTheSameStepsWhereOneLoopSuffices) {
  const size_t one_loop = 4 * kSlicesPerChunk * kSlice;
  EXPECT_EQ(MovesOf({LiveFunc::kAllReduce, one_loop, 0, 4, 0, 1, kSlice}).size(),
            MovesOf({LiveFunc::kAllReduce, one_loop / 2, 0, 4, 0, 1, kSlice}).size());
  EXPECT_EQ(MovesOf({LiveFunc::kAllReduce, 2 * one_loop, 0, 4, 0, 1, kSlice}).size(),
            2 * MovesOf({LiveFunc::kAllReduce, one_loop, 0, 4, 0, 1, kSlice}).size());
}

TEST(Schedule, NoSliceIsLargerThanItsSlot) {
  for (size_t count : {1U, 100U, 4096U}) {
    for (const SliceMove& move : MovesOf({LiveFunc::kAllReduce, count, 1, 3, 1, 2, kSlice})) {
      EXPECT_LE(move.count, kSlice);
    }
  }
}

TEST(Schedule, AMessageGoesInStepsOfHalfASlice) {
  const OperationShape send{LiveFunc::kSend, 10, 0, 2, 0, 1, kSlice};
  const std::vector<SliceMove> moves = MovesOf(send);
  ASSERT_EQ(moves.size(), 3U);
  EXPECT_EQ(moves[1].input, 4U);
  EXPECT_EQ(moves[2].count, 2U);
  EXPECT_EQ(InputCount(send), 10U);
  EXPECT_EQ(OutputCount(send), 0U);
}

}  // namespace
}  // namespace sentinel
