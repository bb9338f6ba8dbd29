#include "gateway/paced_work.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/clock.h"
#include "http/test_peer.h"

namespace sentinel {
namespace {

constexpr Duration kLong = std::chrono::milliseconds(10);

void HoldUpTheLoop() {
  const Instant end = MonotonicNow() + kLong;
  while (MonotonicNow() < end) {
  }
}

TEST(PacedWork, OneIsDoneAtOnceAndEachOtherAfterAPauseAsLongAsTheOneBefore) {
  boost::asio::io_context io;
  PacedWork paced(io);
  std::vector<Instant> begun;
  for (int i = 0; i < 3; ++i) {
    paced.Add([&begun] {
      begun.push_back(MonotonicNow());
      HoldUpTheLoop();
    });
  }
  EXPECT_EQ(begun.size(), 1u);
  RunUntil(io, [&begun] { return begun.size() == 3; });
  ASSERT_EQ(begun.size(), 3u);
  EXPECT_GE(begun[1] - begun[0], 2 * kLong);
  EXPECT_GE(begun[2] - begun[1], 2 * kLong);
}

TEST(PacedWork, WhatWaitsIsDoneInItsOrderAndNotAfterItsEnd) {
  boost::asio::io_context io;
  auto paced = std::make_unique<PacedWork>(io);
  std::vector<int> done;
  for (int i = 0; i < 4; ++i) paced->Add([&done, i] { done.push_back(i); });
  RunUntil(io, [&done] { return done.size() == 4; });
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2, 3}));
  paced->Add(HoldUpTheLoop);
  paced->Add([&done] { done.push_back(9); });
  paced.reset();
  io.restart();
  io.run();
  EXPECT_EQ(done.size(), 4u);
}

}  // namespace
}  // namespace sentinel
