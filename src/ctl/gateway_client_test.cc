#include "ctl/gateway_client.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sentinel {
namespace {

using Json = nlohmann::json;

TEST(IsAnswerTo, WhatAGatewayAlwaysSaysMustBeThere) {
  EXPECT_TRUE(IsAnswerTo("GET", "/api/v1/incidents", Json{{"incidents", Json::array()}}));
  EXPECT_TRUE(IsAnswerTo("GET", "/api/v1/incidents/3f9c0a4b7d21e658", Json{{"id", "3f9c"}}));
  EXPECT_TRUE(IsAnswerTo("GET", "/api/v1/silences", Json{{"silences", Json::array()}}));
  EXPECT_TRUE(IsAnswerTo("POST", "/api/v1/silences", Json{{"id", "1"}}));
  EXPECT_TRUE(IsAnswerTo("POST", "/api/v1/mute", Json{{"muted_until_at", nullptr}}));
}

TEST(IsAnswerTo, AnAnswerOfALaterVersionIsOneToo) {
  EXPECT_TRUE(
      IsAnswerTo("POST", "/api/v1/nodes", Json{{"host", "a"}, {"state", "asleep"}, {"new", 1}}));
}

TEST(IsAnswerTo, AnotherServersJsonIsNone) {
  for (const char* path : {"/api/v1/agents", "/api/v1/audit", "/api/v1/incidents",
                           "/api/v1/incidents/3f9c", "/api/v1/silences", "/api/v1/terminals"}) {
    EXPECT_FALSE(IsAnswerTo("GET", path, Json{{"ok", true}})) << path;
    EXPECT_FALSE(IsAnswerTo("GET", path, Json::object())) << path;
    EXPECT_FALSE(IsAnswerTo("GET", path, Json::array())) << path;
  }
  for (const char* path :
       {"/api/v1/ack", "/api/v1/gpu_event", "/api/v1/mute", "/api/v1/nodes", "/api/v1/route_test",
        "/api/v1/silences", "/api/v1/silences/expire", "/api/v1/test", "/api/v1/unmute"}) {
    EXPECT_FALSE(IsAnswerTo("POST", path, Json{{"ok", true}})) << path;
    EXPECT_FALSE(IsAnswerTo("POST", path, Json())) << path;
  }
}

}  // namespace
}  // namespace sentinel
