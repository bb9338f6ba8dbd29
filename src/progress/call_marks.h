// The marks of one communicator's call order between two tellings.
//
// Agents see boards at different moments, and what they tell must meet: of many marks those are
// kept whose numbers are multiples of the largest power of two, which are the same numbers
// everywhere. What is left out is not lost, since the sum of a later mark covers it.
#pragma once

#include <array>
#include <tuple>
#include <vector>

#include "model/agent_message.h"
#include "model/board_image.h"

namespace sentinel {

class CallMarks {
 public:
  static constexpr size_t kSeenMax = 64;

  void See(const CommLine& line);

  bool empty() const { return seen_.empty(); }
  // What is new since the last time, by rising number, at most kCallMarksMax.
  std::vector<CallMark> Take();

 private:
  void Thin(size_t most);

  std::vector<CallMark> seen_;  // by rising number
  std::array<CallMark, std::tuple_size_v<decltype(CommLine::marks)>> last_;
};

}  // namespace sentinel
