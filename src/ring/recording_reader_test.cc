#include "ring/recording_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace sentinel {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kInit =
    R"({"t":100,"rank":0,"tid":7,"thr":"train","op":"init","commId":"0x9b7a508533962143",)"
    R"("commName":"","nNodes":1,"nranks":1,"pid":7,"mask":4095})";
constexpr const char* kSummary = R"({"name":"tiny","fault":null,"states":{},"rc_before_kill":[0]})";

class RecordingReader : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "recording-" + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    Write("summary.json", kSummary);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
  }
  void WritePacked(const std::string& name, const std::string& text) {
    gzFile file = gzopen((folder_ + "/" + name).c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
  }
  std::string Complaint() {
    const Result<Recording> recording = ReadRecording(folder_);
    return recording.ok() ? "none" : recording.error().message;
  }

  std::string folder_;
};

TEST_F(RecordingReader, ReadsWhatWasCalledInTheOrderOfTheFile) {
  WritePacked("rank0.jsonl.gz",
              std::string(kInit) + "\n" +
                  R"({"t":120,"rank":0,"tid":9,"thr":"NCCL Progress 1","op":"start","id":1,)"
                  R"("type":"ProxyOp","parent":0,"drank":0,"pid":7,"ch":1,"peer":1,"nSteps":12,)"
                  R"("chunkSize":4194304,"isSend":1})"
                  "\n"
                  R"({"t":110,"rank":0,"tid":7,"thr":"train","op":"finalize"})"
                  "\n");
  const Result<Recording> recording = ReadRecording(folder_);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  ASSERT_EQ(recording->ranks.size(), 1u);
  const RankRecording& rank = recording->ranks[0];
  EXPECT_THAT(rank.threads, ElementsAre(7, 9));
  ASSERT_EQ(rank.callbacks.size(), 3u);
  const auto& init = std::get<InitCall>(rank.callbacks[0].what);
  EXPECT_EQ(init.comm_id, 0x9b7a508533962143u);
  EXPECT_EQ(init.comm_name, nullptr);
  const auto& op = std::get<ProxyOpStart>(rank.callbacks[1].what);
  EXPECT_EQ(op.channel, 1);
  EXPECT_TRUE(op.is_send);
  EXPECT_STREQ(rank.callbacks[1].thread_name, "NCCL Progress 1");
  EXPECT_TRUE(rank.Finalizes());
  EXPECT_EQ(recording->OriginNs(), 100);
  EXPECT_EQ(rank.pid(), 7);
}

TEST_F(RecordingReader, ReadsAnUnpackedFileAsWell) {
  Write("rank0.jsonl", std::string(kInit) + "\n");
  EXPECT_TRUE(ReadRecording(folder_).ok());
}

TEST_F(RecordingReader, SaysWhichFileIsMissing) {
  EXPECT_THAT(Complaint(), HasSubstr("holds no rank0.jsonl.gz"));
  Write("rank0.jsonl", std::string(kInit) + "\n");
  Write("rank2.jsonl", std::string(kInit) + "\n");
  EXPECT_THAT(Complaint(), HasSubstr("rank1.jsonl.gz is missing"));
  std::filesystem::remove(folder_ + "/rank2.jsonl");
  std::filesystem::remove(folder_ + "/summary.json");
  EXPECT_THAT(Complaint(), HasSubstr("summary.json"));
  folder_ += "/nowhere";
  EXPECT_THAT(Complaint(), HasSubstr("is not a folder"));
}

TEST_F(RecordingReader, NamesTheFileOfARankThatOthersKnowOf) {
  std::string four(kInit);
  four.replace(four.find("\"nranks\":1"), 10, "\"nranks\":4");
  for (const char* name : {"rank0.jsonl", "rank1.jsonl", "rank2.jsonl"}) Write(name, four + "\n");
  Write("summary.json", R"({"states":{"+1s":[{},{},{},{}]},"rc_before_kill":[0,0,0,0]})");
  EXPECT_THAT(Complaint(), HasSubstr("rank3.jsonl.gz is missing: rank 0 is one of 4"));
  Write("rank3.jsonl", four + "\n");
  EXPECT_EQ(Complaint(), "none");
}

TEST_F(RecordingReader, RefusesACallHoursAwayFromTheOthers) {
  const auto call_at = [](int64_t t) {
    return R"({"t":)" + std::to_string(t) + R"(,"tid":7,"thr":"train","op":"finalize"})" + "\n";
  };
  const int64_t longest = int64_t{kRecordedHoursMax} * 3600 * 1'000'000'000;
  Write("summary.json", R"({"name":"far"})");
  Write("rank0.jsonl", call_at(longest) + call_at(2 * longest));
  Write("rank1.jsonl", call_at(0));
  EXPECT_EQ(Complaint(), "none");
  Write("rank0.jsonl", call_at(longest) + call_at(2 * longest + 1));
  EXPECT_THAT(Complaint(), AllOf(HasSubstr("rank0.jsonl:2: \"t\" is 21600 s after"),
                                 HasSubstr("at most 6 hours")));
  Write("rank0.jsonl", call_at(longest + 1));
  EXPECT_THAT(Complaint(), HasSubstr("rank1.jsonl:1: \"t\" is 21600 s before"));
  Write("rank0.jsonl", call_at(1'795'999'096'252'312'600));
  Write("rank1.jsonl", call_at(1'795'999'096'252'312'601) + call_at(9'000'000'000'000'000'000));
  EXPECT_THAT(Complaint(), HasSubstr("rank1.jsonl:2: \"t\" is 7204000903 s after"));
}

TEST_F(RecordingReader, RefusesAFaultFarFromEveryCall) {
  constexpr int64_t kMargin = int64_t{kFaultMarginSecondsMax} * 1'000'000'000;
  constexpr int64_t kCall = 1'795'999'096'252'312'600;
  std::string init(kInit);
  init.replace(init.find("\"t\":100"), 7, "\"t\":" + std::to_string(kCall));
  Write("rank0.jsonl", init + "\n");
  const auto fault_at = [this](int64_t t) {
    Write("summary.json", R"({"fault":[")" + std::to_string(t) + R"(","stop","0","10"]})");
    return Complaint();
  };
  EXPECT_EQ(fault_at(kCall - kMargin), "none");
  EXPECT_EQ(fault_at(kCall + kMargin), "none");
  EXPECT_THAT(fault_at(kCall - kMargin - 1), HasSubstr("not within 60 s of the recorded calls"));
  EXPECT_THAT(fault_at(kCall + kMargin + 1), HasSubstr("not within 60 s of the recorded calls"));
  EXPECT_THAT(fault_at(1), AllOf(HasSubstr("summary.json: "), HasSubstr("its time, 1, is not")));
}

TEST_F(RecordingReader, BlamesTheLineThatIsWrong) {
  const std::string good = std::string(kInit) + "\n";
  Write("rank0.jsonl", good + "nonsense\n" + good);
  EXPECT_THAT(Complaint(), HasSubstr("rank0.jsonl:2: not JSON"));
  Write("rank0.jsonl", good + good + "[]\n");
  EXPECT_THAT(Complaint(), HasSubstr("rank0.jsonl:3: not a JSON object"));
  Write("rank0.jsonl", R"({"t":1,"tid":1,"thr":"a","op":"dance","id":1,"type":"Coll"})"
                       "\n");
  EXPECT_THAT(Complaint(), HasSubstr("rank0.jsonl:1: \"op\" is none of"));
  Write("rank0.jsonl", R"({"t":1,"tid":1,"thr":"a","op":"stop","id":1,"type":"Nope"})"
                       "\n");
  EXPECT_THAT(Complaint(), HasSubstr(":1: \"type\" is no event type"));
  Write("rank0.jsonl",
        R"({"t":1,"tid":1,"thr":"a","op":"state","id":1,"type":"ProxyStep","state":"Nope"})"
        "\n");
  EXPECT_THAT(Complaint(), HasSubstr(":1: \"state\" is no state"));
  Write("rank0.jsonl", R"({"t":9100000000000000000,"tid":1,"thr":"a","op":"finalize"})"
                       "\n");
  EXPECT_THAT(Complaint(), HasSubstr(":1: \"t\" is not an integer in its range"));
  Write("rank0.jsonl", R"({"t":"soon","tid":1,"thr":"a","op":"finalize"})"
                       "\n");
  EXPECT_THAT(Complaint(), HasSubstr(":1: \"t\" is not an integer"));
  Write("rank0.jsonl", R"({"t":1,"tid":99999999999,"thr":"a","op":"finalize"})"
                       "\n");
  EXPECT_THAT(Complaint(), HasSubstr("\"tid\" is not an integer in its range"));
  Write("rank0.jsonl", R"({"t":1,"tid":1,"op":"finalize"})"
                       "\n");
  EXPECT_THAT(Complaint(), HasSubstr("\"thr\" is missing"));
}

TEST_F(RecordingReader, RefusesAGzipStreamThatBreaksOff) {
  std::string many;
  for (int i = 0; i < 200; ++i) many += std::string(kInit) + "\n";
  WritePacked("rank0.jsonl.gz", many);
  const std::string path = folder_ + "/rank0.jsonl.gz";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_THAT(Complaint(), AllOf(HasSubstr("rank0.jsonl.gz:"), HasSubstr("ends in the middle")));
}

TEST_F(RecordingReader, RefusesDamagedAndBinaryFiles) {
  WritePacked("rank0.jsonl.gz", std::string(kInit) + "\n");
  {
    std::fstream file(folder_ + "/rank0.jsonl.gz", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(30);
    file.put('\x5a').put('\x5a');
  }
  EXPECT_NE(Complaint(), "none");
  Write("rank0.jsonl.gz", std::string("\0\0\0\0", 4) + std::string(kInit) + "\n");
  EXPECT_NE(Complaint(), "none");
}

TEST_F(RecordingReader, RefusesALineWithoutEnd) {
  Write("rank0.jsonl", std::string(100'000, 'x'));
  EXPECT_THAT(Complaint(), HasSubstr("line longer than"));
}

TEST_F(RecordingReader, LeavesOutALastLineThatItsWriterCouldNotFinish) {
  Write("rank0.jsonl", std::string(kInit) + "\n" + R"({"t":1,"ti)");
  const Result<Recording> recording = ReadRecording(folder_);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  EXPECT_EQ(recording->ranks[0].callbacks.size(), 1u);
  EXPECT_THAT(recording->ranks[0].remarks, ElementsAre(HasSubstr("line 2 is cut short")));
}

TEST_F(RecordingReader, RemarksEventsThatNeverStarted) {
  Write("rank0.jsonl", std::string(kInit) + "\n" +
                           R"({"t":1,"tid":7,"thr":"train","op":"stop","id":9,"type":"Coll"})" +
                           "\n");
  const Result<Recording> recording = ReadRecording(folder_);
  ASSERT_TRUE(recording.ok());
  EXPECT_THAT(recording->ranks[0].remarks, ElementsAre(HasSubstr("never started")));
}

TEST(SummaryJson, ReadsFaultAndSightings) {
  const Result<Summary> summary = ParseSummary(
      R"({"name":"k","fault":["1795999096252312600","kill","1","10","remark"],
          "states":{"+15s":[{"state":"R","rc":null},{"state":"Z","rc":-9}],
                    "+0.5s":[{"state":"S","rc":null},{"state":"S","rc":null}]},
          "rc_before_kill":[null,-9]})",
      2);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->fault->at_ns, 1795999096252312600);
  EXPECT_EQ(summary->fault->rank, 1);
  EXPECT_EQ(summary->fault->iteration, 10);
  ASSERT_EQ(summary->sightings.size(), 2u);
  EXPECT_EQ(summary->sightings[0].after_fault, std::chrono::milliseconds(500));
  EXPECT_FALSE(summary->sightings[0].ranks[1].Dead());
  EXPECT_TRUE(summary->sightings[1].ranks[1].Dead());
  EXPECT_EQ(summary->rc_at_end[1], -9);
}

TEST(SummaryJson, AFaultHitsARankThatThereIs) {
  const auto complaint = [](const char* text) {
    const Result<Summary> summary = ParseSummary(text, 4);
    return summary.ok() ? "none" : summary.error().message;
  };
  EXPECT_EQ(complaint(R"({"fault":null})"), "none");
  EXPECT_EQ(complaint(R"({"fault":["1","stop",3]})"), "none");
  EXPECT_THAT(complaint(R"({"fault":["1","freeze-kernel"]})"), HasSubstr("which rank it hits"));
  EXPECT_THAT(complaint(R"({"fault":["1","stop","4"]})"), HasSubstr("\"4\", is none from 0 to 3"));
  EXPECT_THAT(complaint(R"({"fault":["1","stop",-1]})"), HasSubstr("-1, is none from 0 to 3"));
  EXPECT_THAT(complaint(R"({"fault":["1","stop",null]})"), HasSubstr("null, is none from 0 to 3"));
  EXPECT_THAT(complaint(R"({"fault":["1","stop",[[]]]})"), HasSubstr("is no number, is none from"));
}

TEST(SummaryJson, RefusesWhatMakesNoSense) {
  for (const char* text :
       {"", "[]", R"({"fault":["x","kill","0"]})", R"({"fault":["1","kill","7"]})",
        R"({"fault":["1"]})", R"({"fault":"kill"})", R"({"states":{"later":[]}})",
        R"({"states":{"+1s":[]}})", R"({"states":{"+1s":[{"state":5}]}})",
        R"({"rc_before_kill":[0,0]})", R"({"rc_before_kill":["ok"]})",
        R"({"states":{"+1s":[{"state":"Z","rc":9999}]}})"}) {
    EXPECT_FALSE(ParseSummary(text, 1).ok()) << text;
  }
}

}  // namespace
}  // namespace sentinel
