// Each recording of a real NCCL through the plugin, the agent's eyes and the judge: the verdict is
// right and in time, and a healthy job lights no lamp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "program_testing.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;

std::string FolderOf(const std::string& recording) {
  const char* shared = std::getenv("SENTINEL_SHARED");
  return std::string(shared == nullptr ? "../shared" : shared) + "/data/nccl-callbacks/" +
         recording;
}

// `abi`: as an NCCL would that knows no newer interface.
Json JudgeFolder(const std::string& folder, int abi = 6) {
  if (!std::filesystem::exists(folder)) {
    ADD_FAILURE() << folder << " is missing: set SENTINEL_SHARED to the folder with data/";
    return {};
  }
  const std::string report = testing::TempDir() + "report-" + std::to_string(getpid()) + ".json";
  std::filesystem::remove(report);
  Program ring({"--replay", folder, "--json", report, "--abi", std::to_string(abi)});
  EXPECT_EQ(ring.Wait(), 0) << ring.text();
  std::ifstream file(report);
  Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(json.is_object()) << ring.text();
  std::filesystem::remove(report);
  return json;
}

Json Judge(const std::string& recording, int abi = 6) {
  return JudgeFolder(FolderOf(recording), abi);
}

// healthy-large, in which from its iteration `first` to its iteration `last` rank 2 asks for
// something else: everybody goes on moving as real ranks do that disagree over a count.
class Disagreeing {
 public:
  Disagreeing(int first, int last, const std::string& from, const std::string& to)
      : folder_(testing::TempDir() + "disagreeing-" + std::to_string(getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    for (const auto& file : std::filesystem::directory_iterator(FolderOf("healthy-large"))) {
      if (file.path().filename() != "rank2.jsonl.gz")
        std::filesystem::copy_file(file.path(), folder_ / file.path().filename());
    }
    gzFile in = gzopen((FolderOf("healthy-large") + "/rank2.jsonl.gz").c_str(), "r");
    CHECK(in != nullptr);
    std::ofstream out(folder_ / "rank2.jsonl");
    std::string line(1 << 16, '\0');
    int iteration = -1;
    while (gzgets(in, line.data(), static_cast<int>(line.size())) != nullptr) {
      std::string text(line.c_str());
      const bool starts = text.find("\"op\":\"start\"") != std::string::npos;
      const bool call = text.find("\"type\":\"CollApi\"") != std::string::npos;
      const bool coll = text.find("\"type\":\"Coll\"") != std::string::npos;
      if (starts && call) ++iteration;
      const size_t at = text.find(from);
      if (starts && (call || coll) && iteration >= first && iteration <= last) {
        CHECK(at != std::string::npos);
        text.replace(at, from.size(), to);
      }
      out << text;
    }
    gzclose(in);
  }
  ~Disagreeing() { std::filesystem::remove_all(folder_); }
  const std::string folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

void ExpectMismatch(const std::string& folder) {
  const Json json = JudgeFolder(folder);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["class"], "MISMATCH") << json.dump(1);
  ASSERT_TRUE(json["culprit"].is_object()) << json.dump(1);
  EXPECT_EQ(json["culprit"]["rank"], 2) << json.dump(1);
  EXPECT_EQ(json["culprit"]["host"], "replay-2") << json.dump(1);
  EXPECT_GT(json["red_ms"], 0) << json.dump(1);
  // The ring moves for 1.3 s more.
  EXPECT_LT(json["red_ms"], 1000) << json.dump(1);
  ASSERT_GE(json["evidence"].size(), 2u) << json.dump(1);
  EXPECT_THAT(json["evidence"][1].get<std::string>(), testing::HasSubstr("before any hang"));
}

void ExpectVerdict(const std::string& recording, const std::string& hang_class, int abi = 6) {
  const Json json = Judge(recording, abi);
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

void ExpectNothing(const std::string& recording, int abi = 6) {
  const Json json = Judge(recording, abi);
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
TEST(Recordings, ARankThatAsksForLessIsAMismatchWhileTheRingStillMoves) {
  const Disagreeing recording(10, 19, "\"count\":4194304", "\"count\":2097152");
  ExpectMismatch(recording.folder());
}
TEST(Recordings, ARankThatCallsAnotherFunctionOnceIsAMismatchWhileTheRingStillMoves) {
  const Disagreeing recording(10, 10, "\"func\":\"AllReduce\"", "\"func\":\"AllGather\"");
  ExpectMismatch(recording.folder());
}
TEST(Recordings, SmallHealthyOperationsLightNoLamp) { ExpectNothing("healthy-small"); }
TEST(Recordings, LargeHealthyOperationsLightNoLamp) { ExpectNothing("healthy-large"); }

// Up to NCCL 2.26 nobody says how many ranks a communicator has.
TEST(Recordings, AFrozenKernelIsFoundThroughTheInterfaceOfNccl226) {
  ExpectVerdict("freeze-kernel-large", "GPU_STUCK", 3);
}
TEST(Recordings, ARankThatSkipsACollectiveIsFoundThroughTheInterfaceOfNccl226) {
  ExpectVerdict("skip-large", "NOT_ENTERED", 3);
}
TEST(Recordings, ARankCutOffIsFoundThroughTheInterfaceOfNccl224) {
  ExpectVerdict("net-isolate-large", "NETWORK", 2);
}
TEST(Recordings, LargeHealthyOperationsLightNoLampThroughTheInterfaceOfNccl226) {
  ExpectNothing("healthy-large", 3);
}

}  // namespace
}  // namespace sentinel
