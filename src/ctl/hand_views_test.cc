#include "ctl/hand_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sentinel {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

TEST(HandViews, SayWhatWasDone) {
  EXPECT_EQ(AckView({{"acknowledged", 1}, {"incidents", {"a", "b"}}}, {}),
            "acknowledged 1 of a b\n");
  EXPECT_EQ(AckView({{"acknowledged", 0}, {"incidents", Json::array()}}, {}),
            "nothing is open there\n");
  EXPECT_EQ(MuteView({{"terminal", "hall-1"}, {"muted_until_at", "2026-08-17T08:45:00.000Z"}}, {}),
            "hall-1 is muted until 08-17 08:45:00 UTC\n");
  EXPECT_EQ(UnmuteView({{"terminal", "hall-1"}, {"was_muted", true}}, {}),
            "hall-1 is not muted any more\n");
}

TEST(HandViews, ATestThatNobodyHearsSaysWhy) {
  Json answer = {{"terminal", "hall-1"},
                 {"what", "speech"},
                 {"delivered_ms", 12},
                 {"muted_until_at", nullptr}};
  EXPECT_EQ(TestView(answer, {}), "hall-1 has taken the test of its voice after 12 ms\n");
  answer["muted_until_at"] = "2026-08-17T08:45:00.000Z";
  EXPECT_THAT(TestView(answer, {}), HasSubstr("muted until 08-17 08:45:00 UTC and says nothing"));
  answer["what"] = "lamp";
  EXPECT_EQ(TestView(answer, {}), "hall-1 has taken the test of its lamp after 12 ms\n");
}

TEST(HandViews, WhatComesFromElsewhereMovesNoCursor) {
  const std::string words = MuteView({{"terminal", "\x1b[2J"}}, {.colour = true});
  EXPECT_EQ(words.find("\x1b[2J"), std::string::npos);
}

}  // namespace
}  // namespace sentinel
