#include "speech/pcm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace sentinel {
namespace {

using std::chrono::milliseconds;

Pcm Tone(size_t samples, int16_t height) {
  Pcm pcm(samples);
  for (size_t i = 0; i < samples; i++) pcm[i] = i % 2 == 0 ? height : static_cast<int16_t>(-height);
  return pcm;
}

TEST(Wav, ComesBackAsItWasWritten) {
  Pcm pcm = Tone(1000, 3000);
  EXPECT_EQ(*ParseWav(WriteWav(pcm)), pcm);
}

TEST(Wav, ASizeNobodyCouldKnowMeansToTheEnd) {
  Pcm pcm = Tone(1000, 3000);
  std::string wav = WavHeader(0x3FFFF000);
  wav += Bytes(pcm);
  EXPECT_EQ(*ParseWav(wav), pcm);
}

TEST(Wav, WhatIsNotOurSoundIsRefused) {
  std::string wav = WriteWav(Tone(10, 100));
  EXPECT_FALSE(ParseWav("").ok());
  EXPECT_FALSE(ParseWav(std::string(100, 'x')).ok());
  for (size_t cut = 0; cut < 44; cut++) EXPECT_FALSE(ParseWav(wav.substr(0, cut)).ok()) << cut;
  std::string stereo = wav;
  stereo[22] = 2;
  EXPECT_FALSE(ParseWav(stereo).ok());
}

TEST(Pcm, TrimCutsSilenceAtBothEndsAndKeepsALittle) {
  Pcm pcm = Silence(milliseconds(500));
  Pcm tone = Tone(2205, 5000);
  pcm.insert(pcm.end(), tone.begin(), tone.end());
  Pcm tail = Silence(milliseconds(500));
  pcm.insert(pcm.end(), tail.begin(), tail.end());
  EXPECT_EQ(ToMillis(Length(Trim(pcm, milliseconds(20)))), 140);  // 20 + 100 + 20 ms
  EXPECT_TRUE(Trim(tail, milliseconds(20)).empty());
}

TEST(Pcm, NormaliseReachesTheAskedPeakAndNeverClips) {
  for (int16_t height : {int16_t{50}, int16_t{8000}, int16_t{32767}}) {
    Pcm pcm = Tone(100, height);
    Normalise(&pcm, 6);
    EXPECT_NEAR(*std::max_element(pcm.begin(), pcm.end()), 16422, 2);
  }
  Pcm silence = Silence(milliseconds(10));
  Normalise(&silence, 0);
  EXPECT_EQ(silence, Silence(milliseconds(10)));
}

TEST(Chime, IsShortEndsSoftlyAndIsHeard) {
  Pcm chime = Chime(3);
  EXPECT_LT(Length(chime), milliseconds(400));
  int peak = 0;
  for (int16_t sample : chime) peak = std::max(peak, std::abs(static_cast<int>(sample)));
  EXPECT_NEAR(peak, 23197, 2);
  for (size_t i = chime.size() - 50; i < chime.size(); i++) EXPECT_LT(std::abs(chime[i]), 5000);
}

}  // namespace
}  // namespace sentinel
