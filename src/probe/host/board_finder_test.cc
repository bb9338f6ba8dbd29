#include "probe/host/board_finder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "board/decoder.h"
#include "probe/host/testing_proc.h"

namespace sentinel {
namespace {

using std::chrono::seconds;

class BoardFinderTest : public testing::Test {
 protected:
  BoardFinderTest() {
    std::filesystem::create_directories(shm());
    finder.emplace(proc.files(), shm().string());
  }

  std::filesystem::path shm() const { return proc.root() / "shm"; }
  void MakeBoard(const std::filesystem::path& path, size_t bytes = kBoardHeaderBytes) {
    TestingProc::WriteFile(path, std::string(bytes, 'x'));
  }
  TestingProc::Process Mine(int pid) {
    TestingProc::Process process;
    process.pid = pid;
    process.uid = getuid();
    return process;
  }
  size_t Found(Duration after = seconds(1)) {
    now = now + after;
    last = finder->Scan(now);
    return last.size();
  }

  TestingProc proc;
  std::optional<BoardFinder> finder;
  std::vector<FoundBoard> last;
  Instant now{seconds(100)};
};

TEST_F(BoardFinderTest, ABoardOfALiveProcessIsFoundOnce) {
  proc.Write(Mine(7));
  MakeBoard(shm() / "gpu-sentinel.7.100");
  MakeBoard(shm() / "something.else");
  ASSERT_EQ(Found(), 1u);
  EXPECT_EQ(last[0].pid, 7);
  EXPECT_EQ(last[0].start_ticks, 100u);
  EXPECT_EQ(Found(), 0u);
}

TEST_F(BoardFinderTest, AReleasedBoardIsFoundAgainOnlyIfItsProcessLives) {
  proc.Write(Mine(7));
  MakeBoard(shm() / "gpu-sentinel.7.100");
  ASSERT_EQ(Found(), 1u);
  const FileIdentity identity = last[0].file.identity();
  finder->Release(identity);
  ASSERT_EQ(Found(), 1u);
  finder->Release(identity);
  proc.Remove(7);
  EXPECT_EQ(Found(), 0u);
}

TEST_F(BoardFinderTest, AReusedPidIsNotTakenForTheWriter) {
  TestingProc::Process process = Mine(7);
  process.start_ticks = 200;
  proc.Write(process);
  MakeBoard(shm() / "gpu-sentinel.7.100");
  EXPECT_EQ(Found(), 0u);
}

TEST_F(BoardFinderTest, AnotherUsersFileIsNotTheProcesss) {
  TestingProc::Process process = Mine(7);
  process.uid = getuid() + 1;
  proc.Write(process);
  MakeBoard(shm() / "gpu-sentinel.7.100");
  EXPECT_EQ(Found(), 0u);
}

TEST_F(BoardFinderTest, AZombiesBoardIsNotOpened) {
  TestingProc::Process process = Mine(7);
  process.state = 'Z';
  proc.Write(process);
  MakeBoard(shm() / "gpu-sentinel.7.100");
  EXPECT_EQ(Found(), 0u);
}

TEST_F(BoardFinderTest, APidFromAnotherNamespaceIsMapped) {
  TestingProc::Process other = Mine(7);
  other.start_ticks = 300;
  proc.Write(other);  // pid 7 of the host is somebody else
  TestingProc::Process process = Mine(4711);
  process.namespace_pids = "4711\t7";
  proc.Write(process);
  MakeBoard(shm() / "gpu-sentinel.7.100");
  ASSERT_EQ(Found(), 1u);
  EXPECT_EQ(last[0].pid, 4711);
}

TEST_F(BoardFinderTest, ABoardInsideAContainerIsFoundThroughItsRoot) {
  TestingProc::Process process = Mine(4711);
  process.namespace_pids = "4711\t7";
  process.mount_namespace = "mnt:[2]";
  proc.Write(process);
  MakeBoard(proc.Folder(4711) / "root" / shm().relative_path() / "gpu-sentinel.7.100");
  ASSERT_EQ(Found(), 1u);
  EXPECT_EQ(last[0].pid, 4711);
}

TEST_F(BoardFinderTest, ALinkInsideAContainerLeadsNowhere) {
  TestingProc::Process process = Mine(4711);
  process.mount_namespace = "mnt:[2]";
  proc.Write(process);
  std::filesystem::create_directories(proc.root() / "elsewhere");
  MakeBoard(proc.root() / "elsewhere/gpu-sentinel.4711.100");
  const std::filesystem::path inside = proc.Folder(4711) / "root" / shm().relative_path();
  std::filesystem::create_directories(inside.parent_path());
  std::filesystem::create_directory_symlink(proc.root() / "elsewhere", inside);
  EXPECT_EQ(Found(), 0u);
}

TEST_F(BoardFinderTest, TheSameFileSeenFromTwoPlacesIsOneBoard) {
  TestingProc::Process process = Mine(7);
  process.mount_namespace = "mnt:[2]";
  proc.Write(process);
  MakeBoard(shm() / "gpu-sentinel.7.100");
  const std::filesystem::path inside = proc.Folder(7) / "root" / shm().relative_path();
  std::filesystem::create_directories(inside);
  std::filesystem::create_hard_link(shm() / "gpu-sentinel.7.100", inside / "gpu-sentinel.7.100");
  EXPECT_EQ(Found(), 1u);
}

TEST_F(BoardFinderTest, WhatIsNoRegularFileOfABoardsSizeIsRefused) {
  for (const int pid : {7, 8, 9, 10, 11}) proc.Write(Mine(pid));
  ASSERT_EQ(mkfifo((shm() / "gpu-sentinel.7.100").c_str(), 0600), 0);
  MakeBoard(shm() / "gpu-sentinel.8.100", kBoardHeaderBytes - 1);
  MakeBoard(shm() / "target");
  std::filesystem::create_symlink(shm() / "target", shm() / "gpu-sentinel.9.100");
  std::filesystem::create_directories(shm() / "gpu-sentinel.10.100");
  MakeBoard(shm() / "gpu-sentinel.11.100");
  std::filesystem::resize_file(shm() / "gpu-sentinel.11.100", kBoardBytesMax + 1);
  EXPECT_EQ(Found(), 0u);
}

TEST_F(BoardFinderTest, OrphansAreLookedAtEverMoreRarelyAndABoardStillAppears) {
  MakeBoard(shm() / "gpu-sentinel.7.100");
  for (int i = 0; i < 200; ++i) ASSERT_EQ(Found(), 0u);
  proc.Write(Mine(7));
  size_t found = 0;
  for (int i = 0; i < 61 && found == 0; ++i) found = Found();
  EXPECT_EQ(found, 1u);
}

TEST_F(BoardFinderTest, SaysThatAScanWasLong) {
  EXPECT_EQ(Found(), 0u);
  EXPECT_FALSE(finder->strained());
  for (size_t i = 0; i <= BoardFinder::kUnclaimedEasy; ++i) {
    MakeBoard(shm() / ("gpu-sentinel." + std::to_string(1000 + i) + ".100"));
  }
  EXPECT_EQ(Found(), 0u);
  EXPECT_TRUE(finder->strained());
}

// A name claims a process by start time and pid; of many that have started with one tick each name
// asks one.
TEST_F(BoardFinderTest, OfManyThatStartedTogetherTheOneWithThePidIsTaken) {
  for (int pid = 4000; pid < 4050; ++pid) {
    TestingProc::Process process = Mine(pid);
    process.namespace_pids = std::to_string(pid) + "\t" + std::to_string(pid - 3990);
    proc.Write(process);
  }
  MakeBoard(shm() / "gpu-sentinel.20.100");
  ASSERT_EQ(Found(), 1u);
  EXPECT_EQ(last[0].pid, 4010);
}

TEST_F(BoardFinderTest, NoMoreThanItsBoundAreOut) {
  for (int pid = 1; pid <= static_cast<int>(BoardFinder::kBoardsMax) + 5; ++pid) {
    proc.Write(Mine(pid));
    MakeBoard(shm() / ("gpu-sentinel." + std::to_string(pid) + ".100"));
  }
  EXPECT_EQ(Found(), BoardFinder::kBoardsMax);
  EXPECT_EQ(finder->refused(), 5u);
}

TEST_F(BoardFinderTest, AFolderInWhichSomethingWasPutHasChanged) {
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(shm(), old);
  EXPECT_TRUE(finder->FolderChanged()) << "nobody has asked before";
  EXPECT_FALSE(finder->FolderChanged());
  MakeBoard(shm() / "gpu-sentinel.7.100");
  EXPECT_TRUE(finder->FolderChanged());
  EXPECT_FALSE(finder->FolderChanged());
  std::filesystem::remove_all(shm());
  EXPECT_FALSE(finder->FolderChanged()) << "there is nothing to be found";
  std::filesystem::create_directories(shm());
  EXPECT_TRUE(finder->FolderChanged());
}

TEST_F(BoardFinderTest, AMissingFolderIsNoBoards) {
  BoardFinder elsewhere(proc.files(), (proc.root() / "none").string());
  EXPECT_TRUE(elsewhere.Scan(now).empty());
}

TEST_F(BoardFinderTest, AFileThatIsCutWhileReadIsAnErrorAndNoSignal) {
  proc.Write(Mine(7));
  MakeBoard(shm() / "gpu-sentinel.7.100", 2 * kBoardHeaderBytes);
  ASSERT_EQ(Found(), 1u);
  std::vector<std::byte> header(kBoardHeaderBytes);
  EXPECT_TRUE(last[0].file.ReadStart(header).ok());
  std::filesystem::resize_file(shm() / "gpu-sentinel.7.100", 10);
  EXPECT_EQ(last[0].file.ReadStart(header).error().code, ErrorCode::kCorrupt);
  std::vector<std::byte> bytes;
  EXPECT_FALSE(last[0].file.ReadAll(&bytes).ok());
}

// A board in sealed memory, and process 7's way to it.
class SealedBoardTest : public BoardFinderTest {
 protected:
  SealedBoardTest() { proc.Write(Mine(7)); }
  void TearDown() override {
    if (memory >= 0) close(memory);
  }

  // False where the kernel has no such memory.
  bool MakeMemory(const char* name, int seals, size_t bytes = kBoardHeaderBytes) {
    memory = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory < 0 || ftruncate(memory, static_cast<off_t>(bytes)) != 0) return false;
    EXPECT_EQ(pwrite(memory, "yes", 3, 0), 3);
    return seals == 0 || fcntl(memory, F_ADD_SEALS, seals) == 0;
  }
  void Show(const std::string& target, const std::string& number = "5") {
    std::filesystem::create_directories(proc.Folder(7) / "fd");
    std::filesystem::create_symlink(target, proc.Folder(7) / "fd" / number);
  }
  void ShowMemory() { Show("/proc/self/fd/" + std::to_string(memory)); }
  void Say(const std::string& text) { TestingProc::WriteFile(shm() / "gpu-sentinel.7.100", text); }
  static constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
  int memory = -1;
};

TEST_F(SealedBoardTest, IsFoundOnceThroughItsProcess) {
  if (!MakeMemory("gpu-sentinel", kSeals)) GTEST_SKIP() << "no sealed memory here";
  ShowMemory();
  Say("gpu-sentinel board 1 fd 5\n");
  EXPECT_EQ(Found(), 1u);
  EXPECT_EQ(Found(), 0u);
}

TEST_F(SealedBoardTest, IsReadAsAnyOther) {
  if (!MakeMemory("gpu-sentinel", kSeals)) GTEST_SKIP() << "no sealed memory here";
  ShowMemory();
  Say("gpu-sentinel board 1 fd 5\n");
  ASSERT_EQ(Found(), 1u);
  close(memory);
  memory = -1;
  std::vector<std::byte> start(3);
  ASSERT_TRUE(last[0].file.ReadStart(start).ok()) << "what is open outlives its process";
  EXPECT_EQ(start[0], std::byte{'y'});
}

// A process whose communicators have all ended and that makes another.
TEST_F(SealedBoardTest, ABoardMadeAnewIsFoundAlsoWhereInodesAreUsedAgain) {
  if (!MakeMemory("gpu-sentinel", kSeals)) GTEST_SKIP() << "no sealed memory here";
  ShowMemory();
  Say("gpu-sentinel board 1 fd 5\n");
  ASSERT_EQ(Found(), 1u);
  const std::vector<FoundBoard> before = std::move(last);
  for (int i = 0; i < 20; ++i) {
    std::filesystem::remove(shm() / "gpu-sentinel.7.100");
    Say("gpu-sentinel board 1 fd 5\n");
    ASSERT_EQ(Found(), 1u) << i;
    finder->Release(last[0].file.identity());
  }
}

TEST_F(SealedBoardTest, MemoryThatCanShrinkIsNone) {
  if (!MakeMemory("gpu-sentinel", 0)) GTEST_SKIP() << "no sealed memory here";
  ShowMemory();
  Say("gpu-sentinel board 1 fd 5\n");
  EXPECT_EQ(Found(), 0u);
}

TEST_F(SealedBoardTest, MemoryThatIsNotOursIsNone) {
  if (!MakeMemory("somebody-else", kSeals)) GTEST_SKIP() << "no sealed memory here";
  ShowMemory();
  Say("gpu-sentinel board 1 fd 5\n");
  EXPECT_EQ(Found(), 0u);
}

TEST_F(SealedBoardTest, MemoryOfASizeNoBoardHasIsNone) {
  if (!MakeMemory("gpu-sentinel", kSeals, kBoardHeaderBytes - 1)) GTEST_SKIP();
  ShowMemory();
  Say("gpu-sentinel board 1 fd 5\n");
  EXPECT_EQ(Found(), 0u);
}

TEST_F(SealedBoardTest, WhateverElseTheProcessHasUnderThatNumberIsNotOpened) {
  std::filesystem::create_directories(proc.root() / "memfd:gpu-sentinel");
  const std::filesystem::path file = proc.root() / "memfd:gpu-sentinel/board";
  MakeBoard(file);
  const std::filesystem::path fifo = proc.root() / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  Show(file, "5");
  Show(fifo, "6");
  Show("/dev/zero", "7");
  Show(proc.root(), "8");
  for (const char* number : {"5", "6", "7", "8", "9"}) {
    Say("gpu-sentinel board 1 fd " + std::string(number) + "\n");
    EXPECT_EQ(Found(seconds(100)), 0u) << number;
  }
}

TEST_F(SealedBoardTest, WhatCannotBeOpenedIsToldOnceAndNotAtTheFirstTry) {
  Say("gpu-sentinel board 1 fd 5\n");
  EXPECT_EQ(Found(), 0u);
  EXPECT_TRUE(finder->TakeTroubles().empty()) << "it may be being made";
  EXPECT_EQ(Found(seconds(2)), 0u);
  const std::vector<BoardFinder::Trouble> troubles = finder->TakeTroubles();
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_EQ(troubles[0].pid, 7);
  EXPECT_NE(troubles[0].why.find("fd/5"), std::string::npos) << troubles[0].why;
  for (int i = 0; i < 10; ++i) Found(seconds(100));
  EXPECT_TRUE(finder->TakeTroubles().empty());
}

TEST_F(SealedBoardTest, WordsThatAreNotThePluginsLeadNowhere) {
  if (!MakeMemory("gpu-sentinel", kSeals)) GTEST_SKIP() << "no sealed memory here";
  ShowMemory();
  for (const char* text :
       {"", "\n", "5\n", "gpu-sentinel board 1 fd 5", "gpu-sentinel board 1 fd \n",
        "gpu-sentinel board 1 fd -5\n", "gpu-sentinel board 1 fd 5/../5\n",
        "gpu-sentinel board 2 fd 5\n", "gpu-sentinel board 1 fd 5 \n",
        "gpu-sentinel board 1 fd 99999999999\n"}) {
    Say(text);
    EXPECT_EQ(Found(seconds(100)), 0u) << text;
  }
  Say("gpu-sentinel board 1 fd 5\n");
  EXPECT_EQ(Found(seconds(100)), 1u);
}

}  // namespace
}  // namespace sentinel
