#include "web/flap_json.h"

#include <gtest/gtest.h>

namespace sentinel {
namespace {

TEST(FlapNote, IsReadAsItWasWritten) {
  const FlapMemory memory{R"({"host":"n1","type":"LINK_DOWN"})",
                          true,
                          {WallTime{std::chrono::milliseconds(1)},
                           WallTime{std::chrono::milliseconds(1'795'996'334'250)}}};
  Result<FlapMemory> read = ParseFlapNote(WriteFlapNote(memory));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->source, memory.source);
  EXPECT_TRUE(read->unstable);
  EXPECT_EQ(read->openings, memory.openings);
}

TEST(FlapNote, WhatIsNoneIsCorrupt) {
  for (const char* note : {"", "[]", R"({"source":"x"})", R"({"source":1,"unstable":true})",
                           R"({"source":"x","unstable":true,"openings_ms":["y"]})"}) {
    EXPECT_FALSE(ParseFlapNote(note).ok()) << note;
  }
}

}  // namespace
}  // namespace sentinel
