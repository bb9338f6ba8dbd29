#include "speech/engine.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sentinel {
namespace {

double Energy(const Pcm& pcm) {
  double sum = 0;
  for (int16_t sample : pcm) sum += std::abs(static_cast<double>(sample));
  return pcm.empty() ? 0 : sum / static_cast<double>(pcm.size());
}

// These need the package espeak-ng, which every build of ours lists; without it they fail and say
// so.
TEST(EspeakEngine, SpeaksBothLanguages) {
  EspeakEngine engine;
  for (const SpeechRun& run : {SpeechRun{Voice::kMandarin, "训练集群紧急预警，机架"},
                               SpeechRun{Voice::kEnglish, "G P U worker"}}) {
    Result<Pcm> pcm = engine.Synthesise(run);
    ASSERT_TRUE(pcm.ok()) << pcm.error().message << " (is the package espeak-ng installed?)";
    EXPECT_GT(Length(*pcm), std::chrono::milliseconds(600)) << run.text;
    EXPECT_LT(Length(*pcm), std::chrono::seconds(6)) << run.text;
    EXPECT_GT(Energy(*pcm), 500) << run.text;
  }
}

TEST(EspeakEngine, EverySpokenCharacterAddsSound) {
  EspeakEngine engine;
  Duration two = Length(*engine.Synthesise({Voice::kMandarin, "机架"}));
  Duration six = Length(*engine.Synthesise({Voice::kMandarin, "机架节点死锁"}));
  EXPECT_GT(six, two * 2);
}

TEST(EspeakEngine, TextIsTextAndNoOption) {
  EspeakEngine engine;
  EXPECT_TRUE(engine.Synthesise({Voice::kEnglish, "--help; exit 1"}).ok());
}

TEST(EspeakEngine, SaysSoWhenItIsNotInstalled) {
  EspeakEngine engine("espeak-ng-that-is-not-there");
  EXPECT_EQ(engine.Synthesise({Voice::kEnglish, "hello"}).error().code, ErrorCode::kNotFound);
}

class CountingEngine : public SpeechEngine {
 public:
  explicit CountingEngine(int* asked) : asked_(asked) {}
  Result<Pcm> Synthesise(const SpeechRun& run) override {
    ++*asked_;
    if (run.text == "bad") return Error{ErrorCode::kIo, "no"};
    return Pcm(100, 1);
  }

 private:
  int* asked_;
};

TEST(CachingEngine, MakesAWordOnceAndForgetsTheOneUsedLongestAgo) {
  int asked = 0;
  CachingEngine engine(std::make_unique<CountingEngine>(&asked), 2 * 100 * sizeof(int16_t));
  auto say = [&](std::string text) { return engine.Synthesise({Voice::kEnglish, text}).ok(); };
  EXPECT_TRUE(say("a") && say("b") && say("a"));
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(say("c"));  // forgets b
  EXPECT_TRUE(say("a"));
  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(say("b"));
  EXPECT_EQ(asked, 4);
}

TEST(CachingEngine, TriesAgainAfterAFailure) {
  int asked = 0;
  CachingEngine engine(std::make_unique<CountingEngine>(&asked));
  EXPECT_FALSE(engine.Synthesise({Voice::kEnglish, "bad"}).ok());
  EXPECT_FALSE(engine.Synthesise({Voice::kEnglish, "bad"}).ok());
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace sentinel
