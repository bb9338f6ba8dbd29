#include "base/utf8.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

TEST(Utf8, ACharacterIsOneToFourBytesWhateverFollows) {
  EXPECT_EQ(Utf8CharacterBytes("a架"), 1u);
  EXPECT_EQ(Utf8CharacterBytes("\u00e9tage"), 2u);
  EXPECT_EQ(Utf8CharacterBytes("架a"), 3u);
  EXPECT_EQ(Utf8CharacterBytes("\U0001F6A8!"), 4u);
}

TEST(Utf8, ACharacterThatBreaksOffIsNone) {
  EXPECT_EQ(Utf8CharacterBytes("\xC3"), 0u);
  EXPECT_EQ(Utf8CharacterBytes("\xE6\x9E"), 0u);
  EXPECT_EQ(Utf8CharacterBytes("\xE6\x9E!"), 0u);
  EXPECT_EQ(Utf8CharacterBytes("\xF0\x9F\x9A"), 0u);
}

TEST(Utf8, TheFirstAndTheLastOfEachLengthAreTakenAndTheirNeighboursAreNot) {
  EXPECT_EQ(Utf8CharacterBytes("\x7F"), 1u);
  EXPECT_EQ(Utf8CharacterBytes("\x80"), 0u);  // begins nothing
  EXPECT_EQ(Utf8CharacterBytes("\xC1\xBF"), 0u);
  EXPECT_EQ(Utf8CharacterBytes("\xC2\x80"), 2u);
  EXPECT_EQ(Utf8CharacterBytes("\xE0\x9F\xBF"), 0u);
  EXPECT_EQ(Utf8CharacterBytes("\xE0\xA0\x80"), 3u);
  EXPECT_EQ(Utf8CharacterBytes("\xED\x9F\xBF"), 3u);
  EXPECT_EQ(Utf8CharacterBytes("\xED\xA0\x80"), 0u);  // a surrogate
  EXPECT_EQ(Utf8CharacterBytes("\xF0\x8F\xBF\xBF"), 0u);
  EXPECT_EQ(Utf8CharacterBytes("\xF0\x90\x80\x80"), 4u);
  EXPECT_EQ(Utf8CharacterBytes("\xF4\x8F\xBF\xBF"), 4u);
  EXPECT_EQ(Utf8CharacterBytes("\xF4\x90\x80\x80"), 0u);  // beyond the last
  EXPECT_EQ(Utf8CharacterBytes("\xF5\x80\x80\x80"), 0u);
}

}  // namespace
}  // namespace sentinel
