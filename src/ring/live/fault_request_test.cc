#include "ring/live/fault_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sentinel {
namespace {

using testing::HasSubstr;

TEST(FaultRequest, SaysWhatWhereWhenAndForHowLong) {
  const Result<FaultRequest> stop = ParseFaultRequest("stop,rank=5,at=12,after=3.5,for=0.5", 8);
  ASSERT_TRUE(stop.ok());
  EXPECT_EQ(std::get<OutsideFault>(stop->what), OutsideFault::kStop);
  EXPECT_EQ(stop->rank, 5);
  EXPECT_EQ(stop->iteration, 12u);
  EXPECT_EQ(*stop->after, std::chrono::microseconds(3500));
  EXPECT_EQ(stop->lasting, std::chrono::milliseconds(500));
  const Result<FaultRequest> absent = ParseFaultRequest("absent", 8);
  ASSERT_TRUE(absent.ok());
  EXPECT_EQ(std::get<LiveFault>(absent->what), LiveFault::kAbsent);
  EXPECT_FALSE(absent->iteration);
  EXPECT_EQ(absent->lasting, Duration(0));
}

TEST(FaultRequest, HasARankAndADurationWhereNobodySays) {
  EXPECT_EQ(ParseFaultRequest("kill", 8)->rank, 2);
  EXPECT_EQ(ParseFaultRequest("kill", 2)->rank, 1);
  EXPECT_EQ(ParseFaultRequest("checkpoint", 8)->rank, 0);
  EXPECT_EQ(ParseFaultRequest("checkpoint", 8)->lasting, std::chrono::seconds(8));
  EXPECT_EQ(ParseFaultRequest("first-iteration", 8)->iteration, 0u);
}

TEST(FaultRequest, EveryKindItNamesIsUnderstood) {
  EXPECT_GE(FaultKinds().size(), 20u);
  for (const std::string& kind : FaultKinds()) EXPECT_TRUE(ParseFaultRequest(kind, 4).ok()) << kind;
}

TEST(FaultRequest, WhatCannotBeIsRefusedInWords) {
  EXPECT_THAT(ParseFaultRequest("melt", 8).error().message, HasSubstr("there are absent"));
  EXPECT_THAT(ParseFaultRequest("kill,rank=8", 8).error().message, HasSubstr("ranks 0 to 7"));
  for (const char* text : {"", "kill,", "kill,rank", "kill,rank=two", "kill,rank=1.5", "kill,at=-1",
                           "kill,for=0", "kill,after=1e9", "kill,colour=1", "kill,rank=1 "}) {
    EXPECT_FALSE(ParseFaultRequest(text, 8).ok()) << text;
  }
}

}  // namespace
}  // namespace sentinel
