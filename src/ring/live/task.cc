#include "ring/live/task.h"

namespace sentinel {
namespace {

constexpr float kUnwritten = -1.0F;  // no pattern has it

}  // namespace

Task::Task(const LiveCall& call, Pattern pattern, Rank rank, int ranks, int channels)
    : call_(call),
      pattern_(pattern),
      rank_(rank),
      ranks_(ranks),
      times_(static_cast<size_t>(channels)) {
  const OperationShape shape = Shape(0, 1);
  input_.resize(InputCount(shape));
  pattern_.Fill(rank_, input_.data(), input_.size());
  output_.assign(OutputCount(shape), kUnwritten);
}

OperationShape Task::Shape(int channel, size_t slice) const {
  return {call_.func, call_.count, rank_, ranks_, channel, channels(), slice};
}

size_t Task::Wrong() const {
  const size_t count = call_.count;
  switch (call_.func) {
    case LiveFunc::kAllReduce:
      return pattern_.WrongOfSum(ranks_, output_.data(), count, 0);
    case LiveFunc::kReduceScatter:
      return pattern_.WrongOfSum(ranks_, output_.data(), count, static_cast<size_t>(rank_) * count);
    case LiveFunc::kAllGather: {
      size_t wrong = 0;
      for (Rank rank = 0; rank < ranks_; ++rank) {
        const float* block = output_.data() + static_cast<size_t>(rank) * count;
        wrong += pattern_.WrongOfRank(rank, block, count, 0);
      }
      return wrong;
    }
    case LiveFunc::kSend:
      return 0;
    case LiveFunc::kRecv:
      return pattern_.WrongOfRank(call_.peer, output_.data(), count, 0);
  }
  return 0;
}

}  // namespace sentinel
