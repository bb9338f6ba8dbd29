#include "speech/speaker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/testing_folder.h"

namespace sentinel {
namespace {

using Kind = SpeechReport::Kind;
using testing::Contains;
using testing::ElementsAre;

// What a speaker reported, readable from the test's thread.
class Reports {
 public:
  void Add(SpeechReport report) {
    std::lock_guard lock(mutex_);
    reports_.push_back(std::move(report));
    changed_.notify_all();
  }

  SpeechReport Await(Kind kind, uint64_t id) {
    std::unique_lock lock(mutex_);
    const SpeechReport* found = nullptr;
    changed_.wait_for(lock, std::chrono::seconds(60), [&] {
      for (const SpeechReport& report : reports_) {
        if (report.kind == kind && report.id == id) found = &report;
      }
      return found != nullptr;
    });
    EXPECT_NE(found, nullptr) << "no such report";
    return found != nullptr ? *found : SpeechReport{};
  }

  std::vector<Kind> Of(uint64_t id) {
    std::lock_guard lock(mutex_);
    std::vector<Kind> kinds;
    for (const SpeechReport& report : reports_) {
      if (report.id == id && report.kind != Kind::kWarm) kinds.push_back(report.kind);
    }
    return kinds;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<SpeechReport> reports_;
};

class ToneEngine : public SpeechEngine {
 public:
  Result<Pcm> Synthesise(const SpeechRun& run) override {
    if (run.text == "bad") return Error{ErrorCode::kNotFound, "no engine"};
    return Pcm(2205, 8000);
  }
};

// A player that never takes more than a little and is never done before it is cut.
class EndlessSink : public SoundSink {
 public:
  Status Begin(const std::string&) override { return {}; }
  Result<size_t> Write(const int16_t*, size_t count, Duration) override { return count; }
  bool Drained(Duration) override { return false; }
  void Cut() override {}
  std::string name() const override { return "endless"; }
};

class WavDirectory {
 public:
  std::string path() const { return folder_.path(); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(folder_.path() / name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  TestingFolder folder_;
};

Utterance Of(uint64_t id, std::vector<SpeechRun> runs = {{Voice::kEnglish, "one"}}) {
  Utterance utterance;
  utterance.id = id;
  utterance.name = "say-" + std::to_string(id);
  utterance.runs = std::move(runs);
  return utterance;
}

class SpeakerTest : public testing::Test {
 protected:
  std::unique_ptr<Speaker> Make(std::unique_ptr<SpeechEngine> engine,
                                std::unique_ptr<SoundSink> sink,
                                std::vector<SpeechRun> warm_up = {}) {
    return std::make_unique<Speaker>(
        std::move(engine), std::move(sink), std::move(warm_up),
        [this](SpeechReport report) { reports_.Add(std::move(report)); });
  }
  std::unique_ptr<SoundSink> Wav() {
    return std::move(MakeWavSink(directory_.path(), /*paced=*/false)).value();
  }

  WavDirectory directory_;
  Reports reports_;
};

TEST_F(SpeakerTest, ASentenceBeginsWithAChimeAndLeavesAWholeWavFile) {
  auto speaker = Make(std::make_unique<ToneEngine>(), Wav());
  speaker->Say(Of(1, {{Voice::kEnglish, "one"}, {Voice::kMandarin, "二"}}));
  SpeechReport made = reports_.Await(Kind::kMade, 1);
  EXPECT_EQ(reports_.Await(Kind::kEnded, 1).error, "");
  EXPECT_THAT(reports_.Of(1), ElementsAre(Kind::kBegan, Kind::kMade, Kind::kEnded));
  EXPECT_GT(Length(*made.sound), Length(Chime(0)) + std::chrono::milliseconds(200));
  EXPECT_EQ(*ParseWav(directory_.Read("say-1.wav")), *made.sound);
}

TEST_F(SpeakerTest, AHushedSentenceEndsAndTheNextIsHeard) {
  auto speaker = Make(std::make_unique<ToneEngine>(), std::make_unique<EndlessSink>());
  speaker->Say(Of(1));
  reports_.Await(Kind::kMade, 1);
  speaker->Say(Of(2));
  speaker->Hush(1);
  reports_.Await(Kind::kEnded, 1);
  reports_.Await(Kind::kBegan, 2);
}

TEST_F(SpeakerTest, WithoutAnEngineTheChimeIsStillHeardAndTheErrorIsTold) {
  auto speaker = Make(std::make_unique<ToneEngine>(), Wav(), {{Voice::kEnglish, "bad"}});
  EXPECT_EQ(reports_.Await(Kind::kWarm, 0).error, "no engine");
  speaker->Say(Of(1, {{Voice::kEnglish, "bad"}}));
  EXPECT_EQ(reports_.Await(Kind::kEnded, 1).error, "no engine");
  EXPECT_THAT(reports_.Of(1), Contains(Kind::kBegan));
  EXPECT_EQ(Length(*ParseWav(directory_.Read("say-1.wav"))), Length(Chime(0)));
}

TEST_F(SpeakerTest, OneRunThatFailsDoesNotSilenceTheOthers) {
  auto speaker = Make(std::make_unique<ToneEngine>(), Wav());
  speaker->Say(Of(1, {{Voice::kEnglish, "bad"}, {Voice::kEnglish, "A03"}}));
  reports_.Await(Kind::kEnded, 1);
  EXPECT_GT(Length(*ParseWav(directory_.Read("say-1.wav"))), Length(Chime(0)));
}

TEST_F(SpeakerTest, KeepsABoundedNumberOfFiles) {
  auto speaker = Make(std::make_unique<ToneEngine>(), Wav());
  for (uint64_t id = 1; id <= kWavFilesMax + 5; id++) {
    speaker->Say(Of(id));
    reports_.Await(Kind::kEnded, id);
  }
  EXPECT_EQ(directory_.Names().size(), kWavFilesMax);
  EXPECT_THAT(directory_.Names(), Contains("say-" + std::to_string(kWavFilesMax + 5) + ".wav"));
}

TEST_F(SpeakerTest, TooManyWaitingEndTheOldestUnheard) {
  auto speaker = Make(std::make_unique<ToneEngine>(), std::make_unique<EndlessSink>());
  speaker->Say(Of(1));
  reports_.Await(Kind::kMade, 1);
  for (uint64_t id = 2; id <= 2 + kUtterancesWaitingMax; id++) speaker->Say(Of(id));
  EXPECT_NE(reports_.Await(Kind::kEnded, 2).error, "");
}

TEST_F(SpeakerTest, GoesAwayInTheMiddleOfASentence) {
  auto speaker = Make(std::make_unique<ToneEngine>(), std::make_unique<EndlessSink>());
  speaker->Say(Of(1));
  reports_.Await(Kind::kBegan, 1);
  speaker.reset();
}

TEST_F(SpeakerTest, ARealAlarmBecomesRealSpeech) {
  auto speaker = Make(std::make_unique<CachingEngine>(std::make_unique<EspeakEngine>()), Wav());
  speaker->Say(Of(1, SplitRuns("训练集群紧急预警，机架 A03 节点 gpu-worker-08 触发通信死锁")));
  EXPECT_EQ(reports_.Await(Kind::kEnded, 1).error, "") << "is the package espeak-ng installed?";
  Duration length = Length(*ParseWav(directory_.Read("say-1.wav")));
  EXPECT_GT(length, std::chrono::seconds(5));
  EXPECT_LT(length, std::chrono::seconds(20));
}

}  // namespace
}  // namespace sentinel
