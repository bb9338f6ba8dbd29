// Each recording of a real NCCL through the plugin, the agent's eyes and the judge: the verdict is
// right and in time, and a healthy job lights no lamp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "program_testing.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;

Json Judge(const std::string& recording) {
  const char* shared = std::getenv("SENTINEL_SHARED");
  const std::string folder =
      std::string(shared == nullptr ? "../shared" : shared) + "/data/nccl-callbacks/" + recording;
  if (!std::filesystem::exists(folder)) {
    ADD_FAILURE() << folder << " is missing: set SENTINEL_SHARED to the folder with data/";
    return {};
  }
  const std::string report = testing::TempDir() + "report-" + std::to_string(getpid()) + ".json";
  std::filesystem::remove(report);
  Program ring({"--replay", folder, "--json", report});
  EXPECT_EQ(ring.Wait(), 0) << ring.text();
  std::ifstream file(report);
  Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(json.is_object()) << ring.text();
  std::filesystem::remove(report);
  return json;
}

void ExpectVerdict(const std::string& recording, const std::string& hang_class) {
  const Json json = Judge(recording);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["class"], hang_class) << json.dump(1);
  ASSERT_TRUE(json["culprit"].is_object()) << json.dump(1);
  EXPECT_EQ(json["culprit"]["rank"], 2) << json.dump(1);
  EXPECT_EQ(json["culprit"]["host"], "replay-2") << json.dump(1);
  EXPECT_GT(json["red_ms"], 0) << json.dump(1);
  EXPECT_LT(json["red_ms"], 2000) << json.dump(1);
  EXPECT_LE(json["suspect_ms"], json["red_ms"]) << json.dump(1);
  EXPECT_FALSE(json["evidence"].empty()) << json.dump(1);
}

void ExpectNothing(const std::string& recording) {
  const Json json = Judge(recording);
  ASSERT_TRUE(json.is_object());
  EXPECT_TRUE(json["class"].is_null()) << json.dump(1);
  EXPECT_TRUE(json["culprit"].is_null()) << json.dump(1);
}

TEST(Recordings, AFrozenKernelIsFoundWhereItIs) {
  ExpectVerdict("freeze-kernel-large", "GPU_STUCK");
}
TEST(Recordings, ARankThatSkipsACollectiveHasNotEntered) {
  ExpectVerdict("skip-large", "NOT_ENTERED");
}
TEST(Recordings, AKilledRankIsDead) { ExpectVerdict("kill-passive", "PROCESS_DEAD"); }
TEST(Recordings, ARankCutOffFromTheNetworkIsTheEndThatFrozenEdgesShare) {
  ExpectVerdict("net-isolate-large", "NETWORK");
}
TEST(Recordings, SmallHealthyOperationsLightNoLamp) { ExpectNothing("healthy-small"); }
TEST(Recordings, LargeHealthyOperationsLightNoLamp) { ExpectNothing("healthy-large"); }

}  // namespace
}  // namespace sentinel
