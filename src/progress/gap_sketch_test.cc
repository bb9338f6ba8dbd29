#include "progress/gap_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(GapSketch, IsZeroBeforeAnythingWasSeen) { EXPECT_EQ(GapSketch().P999(), Duration(0)); }

TEST(GapSketch, GivesTheLongestWhileThereAreFew) {
  GapSketch sketch;
  for (int ms : {3, 71, 5}) sketch.Add(milliseconds(ms));
  EXPECT_EQ(sketch.count(), 3u);
  EXPECT_EQ(sketch.P999(), milliseconds(71));
}

TEST(GapSketch, OneOutlierInTenThousandDoesNotMoveIt) {
  GapSketch sketch;
  sketch.Add(milliseconds(20), 10000);
  sketch.Add(seconds(30));
  EXPECT_LE(sketch.P999(), milliseconds(22));
}

TEST(GapSketch, ForgetsWhatWasLongAgo) {
  GapSketch sketch;
  sketch.Add(seconds(5), 500);
  for (int i = 0; i < 4000; ++i) sketch.Add(milliseconds(10), 1000);
  EXPECT_LE(sketch.P999(), milliseconds(11));
  EXPECT_EQ(sketch.count(), 4000500u);
}

TEST(GapSketch, ALeapOfACounterIsHarmless) {
  GapSketch sketch;
  sketch.Add(milliseconds(10), UINT64_MAX / 2);
  sketch.Add(milliseconds(10), UINT64_MAX / 2);
  EXPECT_LE(sketch.P999(), milliseconds(11));
}

TEST(GapSketch, IsNeverBelowTheTruthAndAtMostNinePerCentAbove) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> pause(3.0, 1.0);
    GapSketch sketch;
    std::vector<Duration> all;
    for (int i = 0; i < 5000; ++i) {
      const Duration gap = std::chrono::duration_cast<Duration>(
          std::chrono::duration<double, std::milli>(1 + pause(random)));
      sketch.Add(gap);
      all.push_back(gap);
    }
    std::sort(all.begin(), all.end());
    const Duration truth = all[all.size() - 1 - all.size() / 1000];
    EXPECT_GE(sketch.P999(), truth);
    EXPECT_LE(sketch.P999(), truth * 110 / 100);
  }
}

}  // namespace
}  // namespace sentinel
