#include "ctl/node_hosts.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sentinel {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

Json Silenced(const char* host, Json node_state, const char* phase = "active",
              Json rack = nullptr) {
  return {{"phase", phase},
          {"matcher", {{"host", host}, {"rack", std::move(rack)}, {"type", nullptr}}},
          {"node_state", std::move(node_state)}};
}

const Json kAgents = {
    {"agents", {{{"host", "gpu-01"}}, {{"host", "gpu-02"}}, {{"host", "cpu-1"}}}}};
const Json kIncidents = {
    {"incidents", {{{"culprit", {{"host", "gpu-03"}}}}, {{"culprit", {{"host", nullptr}}}}}}};
const Json kSilences = {
    {"silences",
     {Silenced("gpu-04", "drained"), Silenced("gpu-1*", "reserved"), Silenced("gpu-05", nullptr),
      Silenced("gpu-06", "drained", "over"), Silenced("gpu-07", "drained", "active", "A03")}}};

TEST(NodeHosts, APatternMeansTheHostsThatAreKnown) {
  EXPECT_TRUE(IsHostPattern("gpu-0?"));
  EXPECT_TRUE(IsHostPattern("*"));
  EXPECT_FALSE(IsHostPattern("gpu-01"));
  EXPECT_EQ(KnownHostsThatFit("gpu-0?", kAgents, kIncidents, kSilences),
            (Names{"gpu-01", "gpu-02", "gpu-03", "gpu-04", "gpu-06", "gpu-07"}));
  EXPECT_EQ(KnownHostsThatFit("cpu*", kAgents, kIncidents, kSilences), Names{"cpu-1"});
  EXPECT_EQ(KnownHostsThatFit("tpu*", kAgents, kIncidents, kSilences), Names{});
}

TEST(NodeHosts, OutOfServiceIsWhatIsSaidOfHostsAloneAndIsNotOver) {
  EXPECT_EQ(HostsOutOfServiceThatFit("gpu-*", kSilences), (Names{"gpu-04", "gpu-1*"}));
  EXPECT_EQ(HostsOutOfServiceThatFit("gpu-1*", kSilences), Names{"gpu-1*"});
  EXPECT_EQ(HostsOutOfServiceThatFit("x*", kSilences), Names{});
}

TEST(NodeHosts, AnswersOfAnotherShapeNameNobody) {
  EXPECT_EQ(KnownHostsThatFit("*", Json(7), Json::array({1}), Json{{"silences", "x"}}), Names{});
  EXPECT_EQ(HostsOutOfServiceThatFit("*", nullptr), Names{});
}

}  // namespace
}  // namespace sentinel
