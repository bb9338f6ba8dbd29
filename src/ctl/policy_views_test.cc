#include "ctl/policy_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sentinel {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

const Json kSilence = {{"id", "0123456789abcdef"},
                       {"phase", "active"},
                       {"matcher", {{"host", "gpu-worker-0?"}, {"rack", "A03"}, {"type", nullptr}}},
                       {"node_state", nullptr},
                       {"starts_at", "2026-08-17T08:30:00.000Z"},
                       {"expires_at", "2026-08-17T10:30:00.000Z"},
                       {"author", "li"},
                       {"comment", "optics of row 3"}};

TEST(PolicyViews, ASilenceSaysWhatItCoversAndUntilWhen) {
  const std::string list = SilencesView({{"silences", {kSilence}}}, {});
  EXPECT_THAT(list, HasSubstr("host=gpu-worker-0? rack=A03"));
  EXPECT_THAT(list, HasSubstr("08-17 10:30:00"));
  EXPECT_EQ(SilenceView(kSilence, {}),
            "silence 0123456789abcdef for host=gpu-worker-0? rack=A03, until 08-17 10:30:00\n");
  EXPECT_EQ(SilencesView({{"silences", Json::array()}}, {}), "nothing is silenced\n");
}

TEST(PolicyViews, ANodeWithoutAnEndIsOutOfServiceUntilThatIsTakenBack) {
  Json drained = kSilence;
  drained["node_state"] = "drained";
  drained["expires_at"] = nullptr;
  EXPECT_THAT(SilencesView({{"silences", {drained}}}, {}), HasSubstr("taken back"));
  EXPECT_EQ(NodeView({{"host", "n1"}, {"state", "drained"}}, {}), "n1 is drained\n");
}

TEST(PolicyViews, TheTrailIsALineForEachDeed) {
  const std::string lines = AuditView({{"audit",
                                        {{{"at", "2026-08-17T08:30:02.100Z"},
                                          {"by", "uid 1000 (li)"},
                                          {"from", "unix uid=1000 pid=7"},
                                          {"action", "mute"},
                                          {"subject", "hall-1"},
                                          {"detail", nullptr}}}}},
                                      {});
  EXPECT_THAT(lines, HasSubstr("08-17 08:30:02  uid 1000 (li)  unix uid=1000 pid=7  mute  hall-1"));
}

TEST(PolicyViews, WhatAnEventWouldDoIsToldWithItsReasons) {
  const std::string words = RouteTestView({{"event_type", "XID_FATAL"},
                                           {"severity", "P0"},
                                           {"severity_why", "as the table says"},
                                           {"what", "begins an incident"},
                                           {"identity", "{\"host\":\"n1\"}"},
                                           {"debounce_ms", 120000},
                                           {"quiet", {{"reason", "silence"}, {"by", "0123"}}},
                                           {"text", "硬件致命故障"},
                                           {"terminals",
                                            {{{"name", "hall-1"},
                                              {"why", "route 1"},
                                              {"light", true},
                                              {"voice", false},
                                              {"debounce_left_ms", 3000},
                                              {"voice_why", "muted"}}}}},
                                          {});
  for (const char* part :
       {"XID_FATAL", "P0, as the table says", "begins an incident", "2m", "silence 0123",
        "硬件致命故障", "hall-1    yes    no     3000            route 1  muted"}) {
    EXPECT_THAT(words, HasSubstr(part));
  }
}

}  // namespace
}  // namespace sentinel
