#include "progress/learned_text.h"

#include <gtest/gtest.h>

#include <random>

#include "base/digest.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

GapSketch Gaps(std::initializer_list<int> ms) {
  GapSketch gaps;
  for (const int pause : ms) gaps.Add(milliseconds(pause), 3);
  return gaps;
}

LearnedProcess ProcessSeen(int pid, int seen_s) {
  LearnedComm comm;
  comm.slot = 3;
  comm.generation = 2;
  comm.operations_finished = 1234;
  comm.progress = 99999;
  comm.pause = milliseconds(17);
  comm.shown_below = 1200;
  comm.kinds.push_back({{Func::kAllReduce, 24}, 1000, Gaps({3, 40})});
  comm.kinds.push_back({{Func::kSend, 20}, 2, {}});
  comm.others = {{}, 7, Gaps({5})};
  comm.gaps = Gaps({3, 40, 5});
  LearnedProcess process{pid, 88, "slurm:17.0", 0xfeedfacecafebeef, {seconds(seen_s)}, {comm}};
  return process;
}

std::string Write(const Learned& learned) {
  size_t left_out = 0;
  return WriteLearned(learned, &left_out);
}

std::string Summed(const std::string& body) { return body + "sum " + Sha256Hex(body) + "\n"; }

TEST(LearnedText, WhatIsReadIsWhatWasWritten) {
  const std::string text = Write({"b-1", {ProcessSeen(7, 20), ProcessSeen(8, 10)}});
  const Result<Learned> read = ReadLearned(text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->boot, "b-1");
  ASSERT_EQ(read->processes.size(), 2u);
  const LearnedProcess& process = read->processes[0];
  EXPECT_EQ(process.pid, 7);
  EXPECT_EQ(process.start_ticks, 88u);
  EXPECT_EQ(process.board, 0xfeedfacecafebeefu);
  EXPECT_EQ(process.job, "slurm:17.0");
  EXPECT_EQ(process.seen, Instant{seconds(20)});
  ASSERT_EQ(process.comms.size(), 1u);
  const LearnedComm& comm = process.comms[0];
  EXPECT_EQ(comm.slot, 3);
  EXPECT_EQ(comm.generation, 2u);
  EXPECT_EQ(comm.operations_finished, 1234u);
  EXPECT_EQ(comm.progress, 99999u);
  EXPECT_EQ(comm.pause, milliseconds(17));
  EXPECT_EQ(comm.shown_below, 1200u);
  ASSERT_EQ(comm.kinds.size(), 2u);
  EXPECT_EQ(comm.kinds[0].kind, (OperationKind{Func::kAllReduce, 24}));
  EXPECT_EQ(comm.kinds[0].completed, 1000u);
  EXPECT_EQ(comm.kinds[0].gaps.P999(), milliseconds(40));
  EXPECT_EQ(comm.others.completed, 7u);
  EXPECT_EQ(comm.gaps.count(), 9u);
  EXPECT_EQ(Write(*read), text);
}

TEST(LearnedText, TheWorkedExampleOfTheFormatsPageReads) {
  const Result<Learned> read =
      ReadLearned(Summed("gpu-sentinel-learned 1 3f2c9c1e-6d1b-4b7e-9c55-0a4f6d0e9f10\n"
                         "process 4711 88123 12345678901234567890 7200000000000 slurm:17.0\n"
                         "comm 0 1 500 61000 0 480\n"
                         "all 497 41000000 0:400 43:97\n"
                         "kind 3 24 500 497 41000000 0:400 43:97\n"
                         "others 0 0 0\n"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->processes[0].comms[0].kinds[0].gaps.P999(), milliseconds(41));
}

TEST(LearnedText, NothingLearnedIsAFileToo) {
  const Result<Learned> read = ReadLearned(Write({"b", {}}));
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->processes.empty());
}

TEST(LearnedText, AFileThatWasCutOrChangedIsRefusedWhole) {
  const std::string text = Write({"b-1", {ProcessSeen(7, 20)}});
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(ReadLearned(text.substr(0, length)).ok()) << length;
  }
  for (size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] ^= 1;
    EXPECT_FALSE(ReadLearned(changed).ok()) << at;
  }
  EXPECT_FALSE(ReadLearned(text + text).ok());
  EXPECT_FALSE(ReadLearned(std::string(kLearnedBytesMax + 1, 'x')).ok());
}

// Whoever can write the file can also add it up.
TEST(LearnedText, ValuesThatNoWriterGivesAreRefusedAlsoWithARightSum) {
  const std::string good = Write({"b-1", {ProcessSeen(7, 20)}});
  const std::string body = good.substr(0, good.rfind("sum "));
  ASSERT_TRUE(ReadLearned(Summed(body)).ok());
  const auto with = [&body](const std::string& from, const std::string& to) {
    std::string changed = body;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return Summed(changed.replace(at, from.size(), to));
  };
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"learned 1 ", "learned 2 "},
                                                        {"comm 3 ", "comm 64 "},
                                                        {"comm 3 ", "comm -1 "},
                                                        {"comm 3 ", "comm "},
                                                        {"kind 3 24", "kind 16 24"},
                                                        {"kind 3 24", "kind 3 64"},
                                                        {"process 7 ", "process 4294967296 "},
                                                        {"process 7 ", "process 7  "},
                                                        {"slurm:17.0\n", "slurm:17.0 more\n"},
                                                        {"slurm:17.0\n", "slurm:17.0\n\n"},
                                                        {"others", "other"},
                                                        {"all 9", "all 1"},
                                                        {"all 9", "all 99999999999999999999"},
                                                        {"0000 13:3", "0000 900:3"},
                                                        {"0000 13:3", "0000 13:0"},
                                                        {"0000 13:3", "0000 13"},
                                                        {"0000 13:3", "0000 13:999999999"}}) {
    EXPECT_FALSE(ReadLearned(with(from, to)).ok()) << from << " -> " << to;
  }
  EXPECT_FALSE(ReadLearned(Summed("")).ok());
  EXPECT_FALSE(ReadLearned(Summed("gpu-sentinel-learned 1 b\nkind 3 24 1 0 0\n")).ok());
}

TEST(LearnedText, ItsBoundsShedTheProcessesNotSeenForLongest) {
  Learned learned{"b", {}};
  for (int i = 0; i < 400; ++i) learned.processes.push_back(ProcessSeen(i + 1, (i * 37) % 400));
  size_t left_out = 0;
  const Result<Learned> read = ReadLearned(WriteLearned(learned, &left_out));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->processes.size(), kLearnedProcessesMax);
  EXPECT_EQ(left_out, 400 - kLearnedProcessesMax);
  for (const LearnedProcess& process : read->processes) {
    EXPECT_GE(process.seen, Instant{seconds(400 - kLearnedProcessesMax)});
  }
  const std::string small = WriteLearned(learned, &left_out, 2000);
  EXPECT_LE(small.size(), 2000u);
  const Result<Learned> few = ReadLearned(small);
  ASSERT_TRUE(few.ok());
  EXPECT_GT(few->processes.size(), 0u);
  EXPECT_EQ(few->processes.size() + left_out, 400u);
  EXPECT_EQ(few->processes[0].seen, Instant{seconds(399)});
}

TEST(LearnedText, NamesThatWouldBreakALineAreLeftOut) {
  LearnedProcess process = ProcessSeen(7, 20);
  process.job = "two words\nprocess 1";
  const Result<Learned> read = ReadLearned(Write({"", {process}}));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->processes[0].job, "");
}

TEST(LearnedText, AnyBytesAtAllAreSurvived) {
  std::mt19937 random(5);
  const std::string good = Write({"b-1", {ProcessSeen(7, 20)}});
  const std::string body = good.substr(0, good.rfind("sum "));
  for (int round = 0; round < 3000; ++round) {
    std::string changed = body;
    for (int i = 0; i < 3; ++i) {
      const size_t at = random() % changed.size();
      switch (random() % 3) {
        case 0:
          changed[at] = static_cast<char>(random());
          break;
        case 1:
          changed.erase(at, random() % 8);
          break;
        default:
          changed.insert(at, changed.substr(random() % changed.size(), random() % 20));
      }
    }
    const Result<Learned> read = ReadLearned(Summed(changed));
    if (read.ok()) {
      EXPECT_TRUE(ReadLearned(Write(*read)).ok());
    }
  }
}

}  // namespace
}  // namespace sentinel
