#include "progress/call_marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace sentinel {
namespace {

// A line as the board's writer keeps it after so many calls.
CommLine After(uint64_t calls) {
  CommLine line;
  line.collectives = calls;
  for (size_t i = 0; i < line.marks.size(); ++i) {
    const uint64_t last = calls >> 3 * i << 3 * i;
    if (last != 0) line.marks[i] = {last, last * 7};
  }
  return line;
}

std::vector<uint64_t> Numbers(const std::vector<CallMark>& marks) {
  std::vector<uint64_t> numbers;
  numbers.reserve(marks.size());
  for (const CallMark& mark : marks) numbers.push_back(mark.calls);
  return numbers;
}

TEST(CallMarks, OfASlowJobTellsEveryCall) {
  CallMarks marks;
  for (uint64_t calls = 0; calls <= 3; ++calls) marks.See(After(calls));
  EXPECT_EQ(Numbers(marks.Take()), (std::vector<uint64_t>{1, 2, 3}));
  marks.See(After(3));
  EXPECT_TRUE(marks.empty()) << "what was told is not told again";
  marks.See(After(4));
  EXPECT_EQ(Numbers(marks.Take()), (std::vector<uint64_t>{4}));
}

TEST(CallMarks, ALineWithoutCallsSaysNothing) {
  CallMarks marks;
  marks.See(CommLine{});
  EXPECT_TRUE(marks.empty());
  EXPECT_TRUE(marks.Take().empty());
}

TEST(CallMarks, TellsNoMoreThanAMessageHoldsAndRisingNumbers) {
  CallMarks marks;
  std::mt19937 random(20261130);
  uint64_t calls = 0;
  for (int i = 0; i < 5000; ++i) {
    calls += random() % 40;
    marks.See(After(calls));
    if (random() % 13 != 0) continue;
    const std::vector<uint64_t> told = Numbers(marks.Take());
    EXPECT_LE(told.size(), kCallMarksMax);
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  }
}

// Whatever the rate, and whenever their scans and tellings fall.
TEST(CallMarks, OfTwoAgentsMeetWithinASecond) {
  for (const uint64_t per_second : {1u, 20u, 100u, 1000u, 10'000u, 50'000u}) {
    for (const uint64_t phase_ms : {3u, 7u, 13u, 19u}) {
      CallMarks one, other;
      std::set<uint64_t> of_one, common;
      uint64_t last_common_ms = 0;
      uint64_t longest_ms = 0;
      const auto tell = [&](CallMarks& marks, bool first, uint64_t ms) {
        for (const uint64_t number : Numbers(marks.Take())) {
          if (first) {
            of_one.insert(number);
          } else if (of_one.contains(number)) {
            longest_ms = std::max(longest_ms, ms - last_common_ms);
            last_common_ms = ms;
          }
        }
      };
      for (uint64_t ms = 0; ms < 20'000; ++ms) {
        const CommLine line = After(ms * per_second / 1000);
        if (ms % 20 == 0) one.See(line);
        if (ms % 20 == phase_ms) other.See(line);
        if (ms % 250 == 0) tell(one, true, ms);
        if (ms % 250 == 110 + phase_ms) tell(other, false, ms);
      }
      EXPECT_LE(longest_ms, per_second == 1 ? 2500u : 1000u) << per_second << "/s, " << phase_ms;
      EXPECT_GT(last_common_ms, 18'000u) << per_second << "/s, " << phase_ms;
    }
  }
}

}  // namespace
}  // namespace sentinel
