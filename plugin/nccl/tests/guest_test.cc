// Surroundings that are against us: full, read-only and missing folders, exhausted limits, forks,
// a thousand threads, and somebody who does to the board whatever he may. The job must go on.
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "guest_side.h"

namespace sentinel {
namespace {

using namespace nccl_side;  // NOLINT: the vocabulary of these tests

// A file system of our own on `path`, in a mount namespace of our own. False: not allowed here.
bool MountOwn(const std::string& path, unsigned long flags, const char* options) {
  return unshare(CLONE_NEWNS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", path.c_str(), "tmpfs", flags, options) == 0;
}

// As many operations as go round all slots of the board.
void DriveRound(const Plugin& plugin, const Plugin::Comm& comm) {
  for (uint64_t seq = 0; seq < 5000; ++seq) DriveOnce(plugin, comm, seq);
}

void FillUp(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string page(4096, 'x');
  while (write(fd, page.data(), page.size()) > 0) {
  }
  close(fd);
}

int OffAndSaidOnce(const Plugin& plugin, const LoggerLibrary& library) {
  for (int i = 0; i < 3; ++i) {
    if (const int failed = ExpectOff(plugin, library.logger); failed != 0) return failed;
  }
  return *library.lines == 1 ? 0 : 10;
}

TEST(Guest, AFullFileSystemTurnsItOffAndLeavesNothing) {
  const BoardDirectory directory;
  ExpectZeroInChild([&] {
    const LoggerLibrary library;
    if (!MountOwn(directory.path(), 0, "size=128k")) return kSkipped;
    FillUp(directory.path() + "/filler");
    if (const int failed = OffAndSaidOnce(V5(), library); failed != 0) return failed;
    return directory.Files().size() == 1 ? 0 : 20;  // the filler
  });
}

TEST(Guest, AFolderTooSmallForABoardIsLargeEnough) {
  const BoardDirectory directory;
  ExpectZeroInChild([&] {
    if (!MountOwn(directory.path(), 0, "size=64k")) return kSkipped;
    const Plugin plugin = V5();
    const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
    if (comm.mask == 0) return 1;
    if (directory.Place() == directory.Files()[0]) return kSkipped;  // no sealed memory here
    FillUp(directory.path() + "/filler");
    DriveRound(plugin, comm);
    plugin.Finalize(comm.context);
    return directory.Files().size() == 1 ? 0 : 2;
  });
}

TEST(Guest, AReadOnlyFolderTurnsItOffAndIsSaidOnce) {
  const BoardDirectory directory;
  ExpectZeroInChild([&] {
    const LoggerLibrary library;
    if (!MountOwn(directory.path(), MS_RDONLY, "")) return kSkipped;
    return OffAndSaidOnce(V5(), library);
  });
}

TEST(Guest, AFolderThatIsNotOursTurnsItOffAndIsSaidOnce) {
  const BoardDirectory directory;
  ExpectZeroInChild([&] {
    const LoggerLibrary library;
    const Plugin plugin = V5();
    if (chmod(directory.path().c_str(), 0555) != 0) return 30;
    if (getuid() == 0 && (setgroups(0, nullptr) != 0 || setgid(65534) != 0 || setuid(65534) != 0)) {
      return kSkipped;
    }
    return OffAndSaidOnce(plugin, library);
  });
}

TEST(Guest, AFolderThatIsNotThereTurnsItOffAndIsSaidOnce) {
  ExpectZeroInChild([] {
    const LoggerLibrary library;
    setenv("SENTINEL_BOARD_DIR", "/nothing/of/the/kind", 1);
    return OffAndSaidOnce(V5(), library);
  });
}

TEST(Guest, AFolderThatGoesAwayLeavesTheJobAlone) {
  const BoardDirectory directory;
  ExpectZeroInChild([&] {
    const Plugin plugin = V5();
    const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
    std::filesystem::remove_all(directory.path());
    DriveRound(plugin, comm);
    return plugin.Finalize(comm.context);
  });
}

TEST(Guest, WithoutFileDescriptorsItIsOffAndTheJobGoesOn) {
  const BoardDirectory directory;
  ExpectZeroInChild([] {
    const LoggerLibrary library;
    const Plugin plugin = V5();
    const rlimit limit = {3, 3};
    setrlimit(RLIMIT_NOFILE, &limit);
    return OffAndSaidOnce(plugin, library);
  });
  EXPECT_TRUE(directory.Files().empty());
}

TEST(Guest, FewFileDescriptorsAreEnough) {
  const BoardDirectory directory;
  ExpectZeroInChild([&] {
    const Plugin plugin = V5();
    const rlimit limit = {64, 64};
    setrlimit(RLIMIT_NOFILE, &limit);
    const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
    DriveOnce(plugin, comm, 0);
    const BoardImage image = directory.Read();
    plugin.Finalize(comm.context);
    return image.comms.size() == 1 && image.comms[0].line.operations_finished == 1 ? 0 : 1;
  });
}

TEST(Guest, WithoutAddressSpaceItIsOffAndTheJobGoesOn) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "this program's own instruments need address space";
#endif
  const BoardDirectory directory;
  ExpectZeroInChild([] {
    const LoggerLibrary library;
    const Plugin plugin = V5();
    const rlimit limit = {4096, 4096};  // less than there is already: nothing more is mapped
    if (setrlimit(RLIMIT_AS, &limit) != 0) return kSkipped;
    return OffAndSaidOnce(plugin, library);
  });
  EXPECT_TRUE(directory.Files().empty());
}

TEST(Guest, AFileSizeLimitThatComesLaterDoesNotMatter) {
  const BoardDirectory directory;
  ExpectZeroInChild([] {
    const Plugin plugin = V5();
    const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
    const rlimit limit = {0, 0};
    setrlimit(RLIMIT_FSIZE, &limit);
    DriveRound(plugin, comm);
    return plugin.Finalize(comm.context);
  });
}

// A program of which everything is closed in the middle of its life, as some launchers do.
TEST(Guest, AJobThatClosesOurDescriptorGoesOnAndKeepsItsOwn) {
  const BoardDirectory directory;
  ExpectZeroInChild([&] {
    const Plugin plugin = V5();
    const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
    const std::string place = directory.Place();
    const size_t slash = place.rfind('/');
    if (place.find("/fd/") == std::string::npos) return kSkipped;
    const int fd = std::stoi(place.substr(slash + 1));
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (dup2(null, fd) != fd) return 1;
    DriveRound(plugin, comm);
    plugin.Finalize(comm.context);
    if (fcntl(fd, F_GETFD) < 0) return 2;  // the job's, although it has our number
    const Plugin::Comm again = plugin.Init(2, "", 1, 2, 0);
    DriveOnce(plugin, again, 0);
    return directory.Read().comms.at(0).comm_id == 2 ? plugin.Finalize(again.context) : 3;
  });
}

TEST(Guest, ManyBoardsOneAfterTheOtherLeaveNoDescriptorBehind) {
  const BoardDirectory directory;
  ExpectZeroInChild([] {
    const Plugin plugin = V5();
    const auto open_now = [] {
      int count = 0;
      for ([[maybe_unused]] const auto& entry :
           std::filesystem::directory_iterator("/proc/self/fd"))
        ++count;
      return count;
    };
    const int before = open_now();
    for (uint64_t i = 0; i < 50; ++i) {
      const Plugin::Comm comm = plugin.Init(i, "", 1, 2, 0);
      DriveOnce(plugin, comm, 0);
      plugin.Finalize(comm.context);
    }
    return open_now() == before ? 0 : 1;
  });
}

TEST(Guest, AProgramTheJobStartsInheritsNothing) {
  const BoardDirectory directory;
  const Plugin plugin = V5();
  const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c",
          "for f in /proc/$$/fd/*; do readlink $f; done | grep -q gpu-sentinel && exit 1; "
          "grep -q gpu-sentinel /proc/$$/maps && exit 2; exit 0",
          static_cast<char*>(nullptr));
    _exit(3);
  }
  DriveRound(plugin, comm);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
  EXPECT_EQ(5000u, directory.Read().comms.at(0).line.operations_finished);
  plugin.Finalize(comm.context);
}

TEST(Guest, AForkedChildThatLivesOnDoesNotTakeTheBoardWithIt) {
  const BoardDirectory directory;
  const Plugin plugin = V5();
  const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
  const pid_t child = fork();
  if (child == 0) {
    DriveRound(plugin, comm);
    plugin.Finalize(comm.context);
    exit(0);  // NOLINT: its exit handlers run in the child too
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
  DriveOnce(plugin, comm, 0);
  EXPECT_EQ(1u, directory.Read().comms.at(0).line.operations_finished);
  plugin.Finalize(comm.context);
  EXPECT_TRUE(directory.Files().empty());
}

TEST(Guest, UnloadedAndLoadedAgainItGoesOnWhereItWas) {
  const BoardDirectory directory;
  ExpectZeroInChild([&] {
    const Plugin plugin = Plugin::Load(SENTINEL_PLUGIN, 5);
    const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
    void* library = dlopen(SENTINEL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    // NCCL's own reference and ours.
    if (library == nullptr || dlclose(library) != 0 || dlclose(library) != 0) return 1;
    DriveOnce(plugin, comm, 0);  // a callback that was already on its way
    const Plugin again = Plugin::Load(SENTINEL_PLUGIN, 5);
    const Plugin::Comm other = again.Init(2, "", 1, 2, 0);
    DriveOnce(again, other, 0);
    const BoardImage image = directory.Read();
    if (image.comms.size() != 2) return 2;
    for (const CommImage& each : image.comms) {
      if (each.line.operations_finished != 1) return 3;
    }
    plugin.Finalize(comm.context);
    again.Finalize(other.context);
    return directory.Files().empty() ? 0 : 4;
  });
}

struct Caller {
  const Plugin* plugin;
  const Plugin::Comm* comm;
  const std::atomic<bool>* go;
};
constexpr uint64_t kOperationsEach = 20;

void* Call(void* argument) {
  const Caller& caller = *static_cast<Caller*>(argument);
  while (!*caller.go) sched_yield();
  for (uint64_t seq = 0; seq < kOperationsEach; ++seq) {
    DriveOnce(*caller.plugin, *caller.comm, seq);
  }
  return nullptr;
}

TEST(Guest, AThousandThreadsCallAtOnce) {
  constexpr size_t kThreads = 1000;
  const BoardDirectory directory;
  const Plugin plugin = V5();
  std::vector<Plugin::Comm> comms;
  for (uint64_t i = 0; i < 70; ++i) comms.push_back(plugin.Init(i, "", 1, 2, 0));
  std::atomic<bool> go = false;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 * 1024);
  std::vector<pthread_t> threads;
  std::vector<Caller> callers(kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    callers[i] = {&plugin, &comms[i % comms.size()], &go};
    pthread_t thread;
    if (pthread_create(&thread, &small, Call, &callers[i]) != 0) break;
    threads.push_back(thread);
  }
  go = true;
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
  if (threads.size() < kThreads) GTEST_SKIP() << "only " << threads.size() << " are allowed here";
  const BoardImage image = directory.Read();
  ASSERT_EQ(64u, image.comms.size());
  for (size_t i = 0; i < image.comms.size(); ++i) {
    const size_t threads_of_it = kThreads / comms.size() + (i < kThreads % comms.size() ? 1 : 0);
    EXPECT_EQ(threads_of_it * kOperationsEach, image.comms[i].line.operations_started) << i;
    EXPECT_EQ(threads_of_it * kOperationsEach, image.comms[i].line.operations_finished) << i;
    EXPECT_EQ(0u, image.comms[i].line.api_calls_open) << i;
  }
  for (const Plugin::Comm& comm : comms) plugin.Finalize(comm.context);
  EXPECT_TRUE(directory.Files().empty());
}

// An agent that has gone mad, with all rights of the user the job runs as, or of root.
[[noreturn]] void BeHostile(const std::string& file, const std::string& memory) {
  const std::string rubbish(1 << 20, '\xff');
  while (true) {
    for (const std::string& path : {file, memory}) {
      chmod(path.c_str(), 0666);
      if (truncate(path.c_str(), 0) == 0 && path == memory) _exit(1);
      const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
      if (fd >= 0) {
        if (ftruncate(fd, 0) == 0 && path == memory) _exit(2);
        if (pwrite(fd, rubbish.data(), rubbish.size(), 0) > 0 && path == memory) _exit(3);
        if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 19) == 0 &&
            path == memory)
          _exit(4);
        void* mapped = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped != MAP_FAILED && path == memory) _exit(5);
        if (mapped != MAP_FAILED) munmap(mapped, 1 << 16);
        close(fd);
      }
      chmod(path.c_str(), 0);
    }
    unlink(file.c_str());
    rename(file.c_str(), (file + ".moved").c_str());
    close(open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }
}

TEST(Guest, AHostileAgentCanNeitherKillTheJobNorForgeItsBoard) {
  const BoardDirectory directory;
  ExpectZeroInChild([&] {
    const Plugin plugin = V5();
    const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
    const std::string file = directory.Files().at(0);
    const std::string memory = directory.Place();
    if (memory == file) return kSkipped;  // a kernel without sealed memory
    const int board = open(memory.c_str(), O_RDONLY | O_CLOEXEC);
    const pid_t hostile = fork();
    if (hostile == 0) BeHostile(file, memory);
    for (int round = 0; round < 20; ++round) DriveRound(plugin, comm);
    int status = 0;
    const bool succeeded = waitpid(hostile, &status, WNOHANG) != 0;
    kill(hostile, SIGKILL);
    waitpid(hostile, &status, 0);
    if (succeeded) return 40 + WEXITSTATUS(status);
    // The line of the first communicator: operations started and finished.
    uint64_t counts[2] = {};
    if (pread(board, counts, sizeof(counts), 512 + 16) != sizeof(counts)) return 1;
    if (counts[0] != 100000 || counts[1] != 100000) return 2;
    return plugin.Finalize(comm.context);
  });
}

// The system call that `number` is fails with ENOSYS from here on.
bool Forbid(unsigned number) {
  sock_filter filter[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program = {4, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Guest, WhereTheKernelHasNoSealedMemoryTheFileIsTheBoard) {
  const BoardDirectory directory;
  ExpectZeroInChild([&] {
    if (!Forbid(SYS_memfd_create)) return kSkipped;
    const Plugin plugin = V5();
    const Plugin::Comm comm = plugin.Init(7, "", 1, 2, 0);
    if (directory.Place() != directory.Files().at(0)) return 1;
    DriveOnce(plugin, comm, 0);
    if (directory.Read().comms.at(0).comm_id != 7) return 2;
    plugin.Finalize(comm.context);
    return directory.Files().empty() ? 0 : 3;
  });
}

}  // namespace
}  // namespace sentinel
