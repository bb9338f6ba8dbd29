// The plugin as a guest: its file, its switches, forks, limits, and what it never does in a
// callback. What would spoil the process for later tests runs in a child.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "board/decoder.h"
#include "guest_side.h"

namespace sentinel {
namespace {

using namespace nccl_side;  // NOLINT: the vocabulary of these tests

TEST(Process, ABoardIsItsOwnersAndNobodyElses) {
  const BoardDirectory directory;
  const Plugin plugin = V5();
  const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
  ASSERT_EQ(1u, directory.Files().size());
  const std::string name = std::filesystem::path(directory.Files()[0]).filename();
  EXPECT_EQ(0u, name.find("gpu-sentinel." + std::to_string(getpid()) + ".")) << name;
  EXPECT_EQ(std::filesystem::perms::owner_read | std::filesystem::perms::owner_write,
            std::filesystem::status(directory.Files()[0]).permissions());
  plugin.Finalize(comm.context);
}

TEST(Process, ThatEndsNormallyWithoutFinalizeLeavesNoFile) {
  const BoardDirectory directory;
  const pid_t child = fork();
  if (child == 0) {
    const Plugin plugin = V5();
    plugin.Init(1, "", 1, 2, 0);
    std::exit(directory.Files().size() == 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
  EXPECT_TRUE(directory.Files().empty());
}

TEST(Process, ThatIsKilledLeavesItsBoardAsEvidence) {
  const BoardDirectory directory;
  const pid_t child = fork();
  if (child == 0) {
    const Plugin plugin = V5();
    const Plugin::Comm comm = plugin.Init(0x77, "", 1, 2, 1);
    CollFields fields;
    fields.seq = 3;
    plugin.Coll(comm.context, nullptr, plugin.Group(comm.context), 1, fields);
    raise(SIGSTOP);
    _exit(1);
  }
  int status = -1;
  waitpid(child, &status, WUNTRACED);
  ASSERT_TRUE(WIFSTOPPED(status));
  // As the agent does: opened in its life, it can be read after its death.
  std::ifstream in(directory.Place(), std::ios::binary);
  ASSERT_TRUE(in.good());
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(1u, directory.Files().size());
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto decoded = DecodeBoard(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(decoded.ok());
  const BoardImage& image = *decoded;
  ASSERT_EQ(1u, image.comms.size());
  EXPECT_TRUE(image.comms[0].line.live);
  EXPECT_EQ(0x77u, image.comms[0].comm_id);
  ASSERT_EQ(1u, image.comms[0].operations.size());
  EXPECT_FALSE(image.comms[0].operations[0].finished);
}

TEST(Process, AForkedChildDoesNotWriteToItsParentsBoard) {
  const BoardDirectory directory;
  const Plugin plugin = V5();
  const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
  CollFields fields;
  void* op = plugin.Coll(comm.context, nullptr, plugin.Group(comm.context), 0, fields);
  const uint64_t before = directory.Read().comms[0].line.progress;
  ExpectZeroInChild([&] {
    plugin.KernelCh(comm.context, op, 0);
    DriveOnce(plugin, comm, 1);
    plugin.Finalize(comm.context);
    return ExpectOff(plugin);
  });
  const BoardImage image = directory.Read();
  EXPECT_TRUE(image.comms[0].line.live);
  EXPECT_EQ(before, image.comms[0].line.progress);
  EXPECT_EQ(1u, image.comms[0].line.operations_started);
  // The parent goes on.
  plugin.KernelCh(comm.context, op, 0);
  EXPECT_EQ(before + 1, directory.Read().comms[0].line.progress);
  plugin.Finalize(comm.context);
}

// Also where the child came by without any handler of the C library.
TEST(Process, ARawForkedChildDoesNotWriteEither) {
  const BoardDirectory directory;
  const Plugin plugin = V5();
  const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
  void* op = plugin.Coll(comm.context, nullptr, plugin.Group(comm.context), 0, {});
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    plugin.KernelCh(comm.context, op, 0);
    syscall(SYS_exit_group, 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
  EXPECT_EQ(0u, directory.Read().comms[0].operations[0].kernels_started);
  plugin.Finalize(comm.context);
}

// From now on the kernel kills this process for any system call of this thread but read, write and
// exit_group. Not the kernel's own strict mode: that takes the TSC away as well, which a callback
// may read.
bool MakesSystemCallsFatal() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(Process, CallbacksMakeNoSystemCall) {
  const BoardDirectory directory;
  int counts[2];
  ASSERT_EQ(0, pipe(counts));
  const int status = InChild([&] {
    const Plugin plugin = V5();
    const Plugin::Comm comm = plugin.Init(1, "", 2, 2, 0);
    const auto pid = getpid();
    const int board = open(directory.Place().c_str(), O_RDONLY | O_CLOEXEC);
    // Descriptors first: building them allocates, which may be a system call of ours.
    CollFields fields;
    void* op = plugin.Coll(comm.context, nullptr, plugin.Group(comm.context), 0, fields);
    char raw[160];
    if (!MakesSystemCallsFatal()) return kSkipped;
    const auto start = [&](uint64_t type, void* parent, auto fill) {
      std::memset(raw, 0, sizeof(raw));
      std::memcpy(raw, &type, 8);
      std::memcpy(raw + 8, &parent, 8);
      fill();
      void* handle = nullptr;
      plugin.table().start(comm.context, &handle, raw);
      return handle;
    };
    const auto put = [&](size_t at, auto value) { std::memcpy(raw + at, &value, sizeof(value)); };
    const char* func = "AllReduce";
    const char* send = "Send";
    const char* datatype = "ncclFloat32";
    const char* algorithm = "RING";
    for (uint64_t seq = 0; seq < 300; ++seq) {
      void* api_group = start(kGroupApi, nullptr, [] {});
      void* api = start(kCollApi, api_group, [&] {
        put(24, func);
        put(40, datatype);
      });
      void* group = start(kGroup, nullptr, [] {});
      op = start(kColl, api, [&] {
        put(32, func);
        put(72, datatype);
        put(80, uint8_t{1});
        put(88, algorithm);
        put(104, group);
      });
      void* p2p_api = start(kP2pApi, api_group, [&] {
        put(24, send);
        put(40, datatype);
      });
      void* p2p = start(kP2p, p2p_api, [&] {
        put(24, send);
        put(40, datatype);
        put(56, 1);
        put(60, uint8_t{1});
        put(64, group);
      });
      plugin.Stop(p2p);
      plugin.Stop(p2p_api);
      plugin.Stop(api_group);
      void* recv = start(kProxyOp, op, [&] {
        put(24, pid);
        put(36, 64);
      });
      void* kernel = start(kKernelCh, op, [] {});
      for (int step = 0; step < 64; ++step) {
        void* handle = start(kProxyStep, recv, [&] { put(24, step); });
        plugin.State(handle, kRecvWait);
        plugin.State(handle, kRecvFlushWait);
        plugin.State(handle, kRecvGpuWait);
        plugin.Stop(handle);
      }
      plugin.Stop(kernel);
      plugin.Stop(recv);
      plugin.Stop(start(kKernelCh, p2p, [] {}));
    }
    char header[1024];
    const bool told = read(board, header, sizeof(header)) == sizeof(header) &&
                      write(counts[1], header + 512 + 16, 16) == 16;
    syscall(SYS_exit_group, told ? 0 : 2);
    return 1;
  });
  close(counts[1]);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSkipped) GTEST_SKIP() << "no seccomp here";
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(0, WEXITSTATUS(status));
  uint64_t started_and_finished[2] = {};
  EXPECT_EQ(16, read(counts[0], started_and_finished, sizeof(started_and_finished)));
  close(counts[0]);
  EXPECT_EQ(601u, started_and_finished[0]);
  EXPECT_EQ(601u, started_and_finished[1]);
}

TEST(Process, WithoutADirectoryItIsOffAndSaysSoOnce) {
  ExpectZeroInChild([] {
    const LoggerLibrary library;
    setenv("SENTINEL_BOARD_DIR", "/proc/self", 1);
    const Plugin plugin = V5();
    for (int i = 0; i < 3; ++i) {
      if (const int failed = ExpectOff(plugin, library.logger); failed != 0) return failed;
    }
    if (*library.lines != 1) return 10;
    if (std::strstr(library.last_line, "gpu-sentinel") == nullptr) return 11;
    // For good, also where it would work now: a job is watched as a whole or not at all.
    setenv("SENTINEL_BOARD_DIR", "/tmp", 1);
    return ExpectOff(plugin, library.logger);
  });
}

TEST(Process, AFileSizeLimitTurnsItOffAndKillsNobody) {
  const BoardDirectory directory;
  ExpectZeroInChild([] {
    const rlimit limit = {4096, 4096};
    const Plugin plugin = V5();
    setrlimit(RLIMIT_FSIZE, &limit);
    return ExpectOff(plugin);
  });
  EXPECT_TRUE(directory.Files().empty());
}

TEST(Process, ALinkInTheWayIsNotFollowed) {
  const BoardDirectory directory;
  ExpectZeroInChild([&] {
    std::string stat(1024, '\0');
    const int fd = open("/proc/self/stat", O_RDONLY);
    stat.resize(static_cast<size_t>(std::max<ssize_t>(0, read(fd, stat.data(), stat.size()))));
    close(fd);
    size_t at = stat.rfind(')');
    for (int field = 2; field < 22; ++field) at = stat.find(' ', at + 1);
    const std::string ticks = stat.substr(at + 1, stat.find(' ', at + 1) - at - 1);
    const std::string target = directory.path() + "/victim";
    const std::string link =
        directory.path() + "/gpu-sentinel." + std::to_string(getpid()) + "." + ticks;
    if (symlink(target.c_str(), link.c_str()) != 0) return kSkipped;
    if (const int failed = ExpectOff(V5()); failed != 0) return failed;
    return std::filesystem::exists(target) ? 20 : 0;
  });
}

TEST(Process, OffIsOffByEnvironment) {
  const BoardDirectory directory;
  for (const char* setting : {"off", "OFF", "none", "None", "0", "00", "0x0"}) {
    SCOPED_TRACE(setting);
    ExpectZeroInChild([setting] {
      setenv("SENTINEL_NCCL_MASK", setting, 1);
      const LoggerLibrary library;
      if (const int failed = ExpectOff(V5(), library.logger); failed != 0) return failed;
      return *library.lines == 0 ? 0 : 20;
    });
  }
  EXPECT_TRUE(directory.Files().empty());
}

TEST(Process, TheMaskCanBeSet) {
  const BoardDirectory directory;
  const LoggerLibrary library;
  const struct {
    const char* setting;
    int mask;
    int lines;
  } kSettings[] = {{"full", 0x75e, 0},
                   {"", 0x75e, 0},
                   {"light", 0x71e, 0},
                   {"LIGHT", 0x71e, 0},
                   {"Full", 0x75e, 0},
                   {"0x42", 0x42, 0},
                   {"0X1f", 0x1f, 0},
                   {"4095", 0xfff, 0},
                   {"66", 0x42, 0},
                   {"0x7042", 0x42, 0},   // this version does not know all of them
                   {"0x7000", 0x75e, 1},  // nor any of these
                   {"0x8000", 0x75e, 1},  // nobody knows this one
                   {"0xfffff", 0x75e, 1},
                   {"18446744073709551615", 0x75e, 1},
                   {"bright", 0x75e, 1},
                   {"lights", 0x75e, 1},
                   {"of", 0x75e, 1},
                   {"0x", 0x75e, 1},
                   {"12a", 0x75e, 1},
                   {"-1", 0x75e, 1},
                   {" 66", 0x75e, 1},
                   {"18446744073709551616", 0x75e, 1},
                   {"0x10000000000000000", 0x75e, 1}};
  for (const auto& setting : kSettings) {
    SCOPED_TRACE(setting.setting);
    setenv("SENTINEL_NCCL_MASK", setting.setting, 1);
    *library.lines = 0;
    const Plugin plugin = V5();
    for (int board = 0; board < 2; ++board) {  // said once, however many boards are made
      const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0, library.logger);
      EXPECT_EQ(setting.mask, comm.mask);
      EXPECT_EQ(setting.lines, *library.lines);
      plugin.Finalize(comm.context);
    }
    if (setting.lines > 0) {
      EXPECT_NE(nullptr, std::strstr(library.last_line, "SENTINEL_NCCL_MASK")) << library.last_line;
    }
  }
  unsetenv("SENTINEL_NCCL_MASK");
}

TEST(Process, ABoardFolderThatIsNoAbsolutePathIsSaidAndTheUsualOneTaken) {
  ExpectZeroInChild([] {
    const LoggerLibrary library;
    setenv("SENTINEL_BOARD_DIR", "shm", 1);
    const Plugin plugin = V5();
    const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0, library.logger);
    // Where this machine has no /dev/shm it is off, which is said too.
    if (*library.lines != (comm.mask != 0 ? 1 : 2)) return 10;
    if (std::filesystem::exists("shm")) return 11;
    plugin.Finalize(comm.context);
    return 0;
  });
}

TEST(Process, KernelsAreLeftAloneWhereNcclIsKnownToBeSlow) {
  const BoardDirectory directory;
  const LoggerLibrary library;
  const Plugin plugin = V5();
  const struct {
    int version;
    int mask;
  } kVersions[] = {{22809, 0x75e}, {23007, 0x75e}, {23100, 0x71e},
                   {23101, 0x71e}, {23102, 0x71e}, {23103, 0x75e}};
  for (const auto& version : kVersions) {
    *library.version = version.version;
    const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0, library.logger);
    EXPECT_EQ(version.mask, comm.mask) << version.version;
    const BoardHeader header = directory.Read().header;
    EXPECT_EQ(static_cast<uint32_t>(version.version), header.nccl_version);
    EXPECT_EQ((version.mask & 0x40) != 0, header.kernels_watched);
    plugin.Finalize(comm.context);
  }
}

TEST(Process, MoreCommunicatorsThanLinesAreCountedAndTheRestStaysWatched) {
  const BoardDirectory directory;
  const Plugin plugin = V5();
  std::vector<Plugin::Comm> comms;
  for (uint64_t i = 0; i < 70; ++i) {
    comms.push_back(plugin.Init(i, "", 1, 2, 0));
    EXPECT_EQ(0x75e, comms.back().mask) << "the mask is the whole process's";
    ASSERT_NE(nullptr, comms.back().context);
  }
  for (const Plugin::Comm& comm : comms) DriveOnce(plugin, comm, 0);
  const BoardImage image = directory.Read();
  ASSERT_EQ(64u, image.comms.size());
  EXPECT_EQ(6u, image.header.dropped);
  for (uint64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(i, image.comms[i].comm_id);
    EXPECT_EQ(static_cast<int>(i), image.comms[i].slot);
    EXPECT_EQ(1u, image.comms[i].line.operations_finished);
  }
  // A slot that became free is used again, under another generation.
  plugin.Finalize(comms[10].context);
  comms[10] = plugin.Init(1010, "", 1, 2, 0);
  DriveOnce(plugin, comms[10], 0);
  const BoardImage again = directory.Read();
  EXPECT_EQ(1010u, again.comms[10].comm_id);
  EXPECT_TRUE(again.comms[10].line.live);
  EXPECT_NE(image.comms[10].line.generation, again.comms[10].line.generation);
  EXPECT_EQ(1u, again.comms[10].operations.size());
  for (const Plugin::Comm& comm : comms) plugin.Finalize(comm.context);
  EXPECT_TRUE(directory.Files().empty());
}

TEST(Process, TheGpuIsAskedOfADriverThatIsLoaded) {
  const BoardDirectory directory;
  ExpectZeroInChild([&] {
    const Plugin plugin = V5();
    if (dlopen(SENTINEL_TEST_CUDA, RTLD_NOW | RTLD_LOCAL) == nullptr) return 30;
    const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0);
    const BoardImage image = directory.Read();
    plugin.Finalize(comm.context);
    return image.comms.size() == 1 && image.comms[0].pci == "0000:a3:00.0" ? 0 : 31;
  });
}

TEST(Process, LoadingItTouchesNobodysSettings) {
  ExpectZeroInChild([] {
    setenv("NCCL_PROFILER_PLUGIN", "/opt/other.so", 1);
    V5();
    return std::string(std::getenv("NCCL_PROFILER_PLUGIN")) == "/opt/other.so" ? 0 : 1;
  });
}

}  // namespace
}  // namespace sentinel
