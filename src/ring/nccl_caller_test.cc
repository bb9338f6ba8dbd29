#include "ring/nccl_caller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "ring/script_text_testing.h"

namespace sentinel {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

void NoLog(int, unsigned long, const char*, int, const char*, ...) {}

struct Setting {
  const char* library = FAKE_PROFILER;
  int abi_max = kProfilerAbiNewest;
  const char* mask = "0xfff";
  const char* no_handles = "0";
};

// What the plugin was told, a line a call, without the thread.
std::vector<std::string> Told(const RankRecording& rank, const Setting& setting) {
  static int run = 0;
  const std::string path =
      testing::TempDir() + "nccl-caller-" + std::to_string(getpid()) + "-" + std::to_string(run++);
  setenv("FAKE_PROFILER_LOG", path.c_str(), 1);
  setenv("FAKE_PROFILER_MASK", setting.mask, 1);
  setenv("FAKE_PROFILER_NULL", setting.no_handles, 1);
  unsetenv("RANK");
  {
    Result<ProfilerLibrary> library = ProfilerLibrary::Load(setting.library, setting.abi_max);
    CHECK(library.ok());
    NcclCaller caller(library->table(), library->abi(), rank.pid().value_or(-1), &NoLog,
                      rank.callbacks.size());
    for (const Callback& callback : rank.callbacks) caller.Make(callback);
  }
  std::vector<std::string> lines;
  std::ifstream log(path);
  for (std::string line; std::getline(log, line);) {
    lines.push_back(line.substr(0, line.rfind(" thread=")));
  }
  std::remove(path.c_str());
  return lines;
}

TEST(NcclCaller, TheNewestInterfaceGetsEverythingInOrderWithThePluginsOwnHandles) {
  EXPECT_THAT(
      Told(OneAllReduce(), {}),
      ElementsAre(
          "init v6 comm=0x5b22be658d62ced2 name=dp nodes=2 ranks=2 rank=0",
          "start v6 type=0x100 handle=1 parent=0 rank=0 context=0xc0 ",
          "state handle=1 state=23 argument=-1",
          "start v6 type=0x200 handle=2 parent=1 rank=0 context=0xc0 func=AllReduce count=64",
          "stop handle=2", "start v6 type=0x800 handle=3 parent=1 rank=0 context=0xc0 ",
          "stop handle=3", "start v6 type=0x1 handle=4 parent=0 rank=0 context=0xc0 ",
          "start v6 type=0x2 handle=5 parent=2 rank=0 context=0xc0 seq=3 func=AllReduce count=64 "
          "dtype=ncclFloat32 channels=1 proto=SIMPLE group=4",
          "stop handle=5", "stop handle=4",
          "start v6 type=0x8 handle=6 parent=5 rank=0 context=0xc0 pid=own channel=0 peer=1 "
          "steps=1 chunk=64 send=0",
          "state handle=6 state=19 argument=-1", "stop handle=1",
          "start v6 type=0x10 handle=7 parent=6 rank=0 context=0xc0 step=0",
          "state handle=7 state=10 argument=5",
          "start v6 type=0x10 handle=8 parent=6 rank=0 context=0xc0 step=0",
          "state handle=8 state=10 argument=5",
          "start v6 type=0x40 handle=9 parent=5 rank=0 context=0xc0 channel=0 timer=77",
          "state handle=8 state=12 argument=256", "stop handle=8", "stop handle=6",
          "state handle=9 state=22 argument=88", "stop handle=9", "finalize context=0xc0"));
}

TEST(NcclCaller, TakesTheNewestInterfaceThatBothSidesKnow) {
  EXPECT_THAT(Told(OneAllReduce(), {.abi_max = 5})[0], StartsWith("init v5"));
  EXPECT_THAT(Told(OneAllReduce(), {.abi_max = 3})[0], StartsWith("init v2"));
  EXPECT_THAT(Told(OneAllReduce(), {.library = FAKE_PROFILER_V4})[0], StartsWith("init v4"));
}

TEST(NcclCaller, OnlyWhatTheMaskAsksForIsCalledWithItsAncestors) {
  const std::vector<std::string> kernels = Told(OneAllReduce(), {.mask = "0x40"});
  EXPECT_THAT(kernels, Contains(HasSubstr("type=0x40 ")));
  EXPECT_THAT(kernels, Contains(HasSubstr("type=0x2 ")));
  EXPECT_THAT(kernels, Each(AllOf(Not(HasSubstr("type=0x8 ")), Not(HasSubstr("type=0x10 ")),
                                  Not(HasSubstr("type=0x800 ")))));
  // The operation keeps its parents' true handles, and nobody hears of events left out.
  EXPECT_THAT(kernels, Contains(HasSubstr("type=0x2 handle=4 parent=2")));
  EXPECT_THAT(Told(OneAllReduce(), {.mask = "0"}),
              ElementsAre(StartsWith("init"), StartsWith("finalize")));
}

TEST(NcclCaller, AnEventWithoutAHandleIsNeverHeardOfAgain) {
  const std::vector<std::string> lines = Told(OneAllReduce(), {.no_handles = "0x40"});
  EXPECT_THAT(lines, Contains(HasSubstr("type=0x40 handle=0")));
  EXPECT_THAT(lines, Each(Not(HasSubstr("state=22"))));
}

TEST(NcclCaller, StepsAreSilentWhereTheirProxyOpHasNoHandle) {
  const std::vector<std::string> lines = Told(OneAllReduce(), {.no_handles = "0x8"});
  EXPECT_THAT(lines, Contains(HasSubstr("type=0x10 handle=6 parent=0")));
  EXPECT_THAT(lines, Contains("stop handle=7"));
  EXPECT_THAT(lines, Each(Not(HasSubstr("state=10"))));
}

TEST(NcclCaller, AProxyOpForAnotherProcessCarriesAForeignPid) {
  EXPECT_THAT(Told(OneAllReduce(1'000'000, /*foreign_pid=*/8), {}),
              Contains(HasSubstr("type=0x8 handle=6 parent=5 rank=0 context=0xc0 pid=foreign")));
}

TEST(NcclCaller, TheFourthInterfaceHearsOfGroupsButNotOfCalls) {
  const std::vector<std::string> lines = Told(OneAllReduce(), {.library = FAKE_PROFILER_V4});
  EXPECT_THAT(lines, Contains("start v4 type=0x2 handle=2 parent=1 rank=0 context=0xc0 seq=3 "
                              "func=AllReduce count=64 dtype=ncclFloat32 channels=1 proto=SIMPLE"));
  EXPECT_THAT(lines, Contains("start v4 type=0x40 handle=6 parent=2 rank=0 context=0xc0 channel=0 "
                              "timer=77"));
  EXPECT_THAT(lines, Each(AllOf(Not(HasSubstr("type=0x100")), Not(HasSubstr("type=0x200")),
                                Not(HasSubstr("type=0x800")))));
  EXPECT_THAT(Told(OneAllReduce(), {.library = FAKE_PROFILER_V4, .no_handles = "0x1"}),
              Each(Not(HasSubstr("type=0x2 "))));
}

TEST(NcclCaller, TheSecondInterfaceKnowsNeitherKernelsNorLaterStates) {
  const std::vector<std::string> lines = Told(OneAllReduce(), {.abi_max = 2});
  EXPECT_THAT(lines, Contains(HasSubstr("start v2 type=0x2 handle=2 parent=1 rank=0 context=0xc0 "
                                        "seq=3 func=AllReduce count=64 dtype=ncclFloat32 "
                                        "channels=1")));
  EXPECT_THAT(lines, Each(AllOf(Not(HasSubstr("type=0x40")), Not(HasSubstr("state=19")),
                                Not(HasSubstr("state=22")))));
}

TEST(NcclCaller, ARecordingWithoutApiEventsIsMadeAsItIs) {
  RankRecording rank = OneAllReduce();
  std::vector<Callback> older;
  for (const Callback& callback : rank.callbacks) {
    if (callback.type < CallbackType::kGroupApi) older.push_back(callback);
  }
  rank.callbacks = std::move(older);
  EXPECT_THAT(Told(rank, {}), Contains(HasSubstr("type=0x2 handle=2 parent=0")));
}

TEST(NcclCaller, SaysWhyALibraryCannotBeUsed) {
  EXPECT_THAT(ProfilerLibrary::Load("/nonexistent.so").error().message, HasSubstr("nonexistent"));
  EXPECT_THAT(ProfilerLibrary::Load("libz.so.1").error().message,
              HasSubstr("exports no profiler interface"));
}

}  // namespace
}  // namespace sentinel
