#include "floor/lamp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "floor/floor_testing.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Look Alarm(Color color, LightMode mode, std::string text = "") {
  return {LookKind::kAlarm, color, mode, std::move(text)};
}

double Brightness(const Frame& frame) {
  double sum = 0;
  for (uint8_t part : frame) sum += part;
  return sum / kFrameBytes / 255;
}

// How often the matrix goes from dark to bright, watched at the frame rate.
int Rises(Lamp* lamp, Instant from, Duration length) {
  int rises = 0;
  bool bright = false;
  for (Instant t = from; t < from + length; t = t + kFramePeriod) {
    bool now = Brightness(lamp->Render(t)) > 0.16;
    if (now && !bright) rises++;
    bright = now;
  }
  return rises;
}

TEST(Lamp, AFlashIsTwoHertzAndHalfOn) {
  Lamp lamp;
  lamp.Show(Alarm(kRed, LightMode::kFlash), kStart);
  int lit = 0;
  for (int ms = 0; ms < 10000; ms++) {
    if (PixelAt(lamp.Render(kStart + milliseconds(ms)), 0, 0) == kRed) lit++;
  }
  EXPECT_EQ(lit, 5000);
  EXPECT_EQ(Rises(&lamp, kStart + seconds(10), seconds(10)), 20);
}

TEST(Lamp, TheFirstFrameOfAnyAlarmIsLit) {
  for (LightMode mode : {LightMode::kFlash, LightMode::kBreath, LightMode::kSteady}) {
    for (int offset = 0; offset < 700; offset += 33) {
      Lamp lamp;
      lamp.Show(Look{}, kStart);
      Instant now = kStart + milliseconds(offset);
      lamp.Show(Alarm(kRed, mode), now);
      EXPECT_EQ(PixelAt(lamp.Render(now), 3, 3), kRed);
      EXPECT_TRUE(lamp.lit());
    }
  }
}

TEST(Lamp, ABreathTakesFourSecondsAndNeverGoesDark) {
  Lamp lamp;
  lamp.Show(Alarm({255, 165, 0}, LightMode::kBreath), kStart);
  EXPECT_EQ(PixelAt(lamp.Render(kStart), 0, 0), (Color{255, 165, 0}));
  EXPECT_EQ(PixelAt(lamp.Render(kStart + seconds(4)), 0, 0), (Color{255, 165, 0}));
  Color low = PixelAt(lamp.Render(kStart + seconds(2)), 0, 0);
  EXPECT_GT(low.red, 8);
  EXPECT_LT(low.red, 32);
  EXPECT_EQ(Rises(&lamp, kStart + seconds(4), seconds(40)), 11);  // the first begins bright
}

TEST(Lamp, NothingFlashesFasterThanThreeTimesASecondWhateverIsAskedOfIt) {
  for (int every : {40, 90, 150, 210, 260, 310, 420}) {
    Lamp lamp;
    std::vector<Instant> rises;
    bool was_lit = false;
    Instant next_change = kStart;
    int change = 0;
    for (Instant t = kStart; t < kStart + seconds(20); t = t + kFramePeriod) {
      if (t >= next_change) {
        bool off = change++ % 2 == 1;
        lamp.Show(
            off ? Look{} : Alarm(change % 4 < 2 ? kRed : Color{255, 165, 0}, LightMode::kFlash), t);
        next_change = t + milliseconds(every);
      }
      lamp.Render(t);
      if (lamp.lit() && !was_lit) rises.push_back(t);
      was_lit = lamp.lit();
    }
    for (size_t i = 1; i < rises.size(); i++) {
      EXPECT_GE(ToMillis(rises[i] - rises[i - 1]), 333) << "changing every " << every << " ms";
    }
  }
}

// How a cell looks to somebody who is sensitive to flashing: dark, or lit in one of the hues.
int LookOf(Color color) {
  if (std::max({color.red, color.green, color.blue}) < 100) return 0;
  return 4 * (color.red >= 100) + 2 * (color.green >= 100) + (color.blue >= 100);
}

TEST(Lamp, NoCellRisesOrChangesItsHueTwiceWithinAThirdOfASecondInAnyStorm) {
  const Color colors[] = {kRed, {255, 165, 0}, {0, 255, 0}, {255, 255, 255}, {0, 0, 255}};
  const LightMode modes[] = {LightMode::kFlash, LightMode::kSteady, LightMode::kOff};
  for (unsigned seed = 1; seed <= 40; seed++) {
    std::mt19937 random(seed);
    auto pick = [&](unsigned below) { return random() % below; };
    Lamp lamp;
    int cell = 0;
    std::optional<Instant> last;
    Instant asked = kStart;
    for (Instant t = kStart; t < kStart + seconds(30); t = t + milliseconds(10)) {
      if (t >= asked) {
        Look look = Alarm(colors[pick(5)], modes[pick(3)]);
        if (pick(4) == 0) look = Look{};
        if (look.mode == LightMode::kSteady && pick(2) == 0) look.kind = LookKind::kRecovered;
        lamp.Show(look, t);
        asked = t + milliseconds(pick(pick(2) == 0 ? 60 : 700));
      }
      int now = LookOf(PixelAt(lamp.Render(t), 0, 0));
      if (now != cell && now != 0) {
        if (last) {
          ASSERT_GE(ToMillis(t - *last), 334) << "seed " << seed;
        }
        last = t;
      }
      cell = now;
    }
  }
}

TEST(Lamp, AfterAStormTheNewestLookIsShownAndTheNextAlarmAfterCalmAtOnce) {
  Lamp lamp;
  for (int ms = 0; ms < 300; ms += 50) {
    Color color = ms % 100 == 0 ? kRed : Color{0, 255, 0};
    lamp.Show(Alarm(color, LightMode::kSteady), kStart + milliseconds(ms));
    EXPECT_EQ(PixelAt(lamp.Render(kStart + milliseconds(ms)), 0, 0), kRed);
  }
  EXPECT_EQ(PixelAt(lamp.Render(kStart + milliseconds(334)), 0, 0), (Color{0, 255, 0}));
  lamp.Show(Look{}, kStart + seconds(1));
  lamp.Show(Alarm(kRed, LightMode::kFlash), kStart + seconds(2));
  EXPECT_EQ(PixelAt(lamp.Render(kStart + seconds(2)), 0, 0), kRed);
}

TEST(Lamp, AnotherTextOfTheSameLightLeavesItsRhythm) {
  Lamp a;
  Lamp b;
  a.Show(Alarm(kRed, LightMode::kFlash, "A03"), kStart);
  b.Show(Alarm(kRed, LightMode::kFlash, "A03"), kStart);
  b.Show(Alarm(kRed, LightMode::kFlash, "A03 + B01"), kStart + milliseconds(130));
  for (int ms = 130; ms < 3000; ms += 33) {
    Instant t = kStart + milliseconds(ms);
    EXPECT_EQ(PixelAt(a.Render(t), 0, 0), PixelAt(b.Render(t), 0, 0));
  }
}

TEST(Lamp, LettersAreReadableInBothHalvesOfAFlash) {
  Lamp lamp;
  lamp.Show(Alarm(kRed, LightMode::kFlash, "I"), kStart);
  Frame bright = lamp.Render(kStart);
  EXPECT_EQ(PixelAt(bright, 1, kTextTop), (Color{0, 0, 0}));
  EXPECT_EQ(PixelAt(bright, 8, kTextTop), kRed);
  Frame dark = lamp.Render(kStart + milliseconds(300));
  EXPECT_GT(PixelAt(dark, 1, kTextTop).green, 100);
  EXPECT_EQ(PixelAt(dark, 8, kTextTop), (Color{0, 0, 0}));
}

TEST(Lamp, AnIdleLampShowsADimSignOfLife) {
  Lamp lamp;
  lamp.Show(Look{}, kStart);
  double low = 1;
  double high = 0;
  for (int ms = 0; ms < 6000; ms += 33) {
    double now = Brightness(lamp.Render(kStart + milliseconds(ms)));
    low = std::min(low, now);
    high = std::max(high, now);
  }
  EXPECT_GT(low, 0);
  EXPECT_LT(high, 0.01);
  EXPECT_LT(low, high);
  EXPECT_FALSE(lamp.lit());
}

TEST(Lamp, ABlinkIsShortAndDim) {
  Lamp lamp;
  lamp.Show(Look{}, kStart);
  lamp.Blink(kStart);
  EXPECT_EQ(PixelAt(lamp.Render(kStart), 0, 0), (Color{48, 48, 48}));
  EXPECT_EQ(PixelAt(lamp.Render(kStart + milliseconds(500)), 0, 0), (Color{0, 0, 0}));
}

}  // namespace
}  // namespace sentinel
