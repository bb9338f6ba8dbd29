// What the tests of the plugin as a guest share: children to spoil, plugins nobody has used yet,
// and the library that stands for NCCL.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include "nccl_side.h"

namespace sentinel::nccl_side {

constexpr int kSkipped = 77;

// The wait status of a child that runs `body` and exits with what it returns.
inline int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

inline void ExpectZeroInChild(const std::function<int()>& body) {
  const int status = InChild(body);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kSkipped) GTEST_SKIP() << "this machine does not allow the set-up";
  EXPECT_EQ(0, WEXITSTATUS(status)) << "the number of the expectation that failed";
}

// A plugin that no earlier test of this process has used: the loader takes a copy for another
// library.
inline Plugin V5() {
  std::string pattern = (std::filesystem::temp_directory_path() / "sentinel-copy-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  const std::string copy = pattern + "/libnccl-profiler-sentinel.so";
  std::filesystem::copy_file(SENTINEL_PLUGIN, copy);
  const Plugin plugin = Plugin::Load(copy, 5);
  std::filesystem::remove_all(pattern);
  return plugin;
}

// The library that stands for NCCL.
struct LoggerLibrary {
  LoggerLibrary() {
    void* library = dlopen(SENTINEL_TEST_LOGGER, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::abort();
    logger = reinterpret_cast<Logger>(dlsym(library, "test_logger"));
    version = static_cast<int*>(dlsym(library, "test_version"));
    lines = static_cast<int*>(dlsym(library, "test_lines"));
    last_line = static_cast<char*>(dlsym(library, "test_last_line"));
    *lines = 0;
  }
  Logger logger;
  int* version;
  int* lines;
  char* last_line;
};

// A ring's callbacks once through, on a communicator that may or may not be watched.
inline void DriveOnce(const Plugin& plugin, const Plugin::Comm& comm, uint64_t seq) {
  CollFields fields;
  fields.seq = seq;
  fields.count = 1 << 20;
  void* api_group = plugin.GroupApi(comm.context);
  plugin.State(api_group, kGroupStartApiStop);
  void* api = plugin.CollApi(comm.context, api_group, fields);
  plugin.Stop(api);
  void* group = plugin.Group(comm.context);
  void* op = plugin.Coll(comm.context, api, group, 0, fields);
  plugin.Stop(op);
  plugin.Stop(group);
  plugin.Stop(api_group);
  void* recv = plugin.ProxyOp(comm.context, op, getpid(), 0, 1, 4, false);
  void* kernel = plugin.KernelCh(comm.context, op, 0);
  for (int i = 0; i < 4; ++i) {
    void* step = plugin.ProxyStep(comm.context, recv, i);
    plugin.State(step, kRecvWait);
    plugin.State(step, kRecvGpuWait);
    plugin.Stop(step);
  }
  plugin.State(kernel, kKernelStop);
  plugin.Stop(kernel);
  plugin.Stop(recv);
}

// Off means: success, mask 0, and everything accepted.
inline int ExpectOff(const Plugin& plugin, Logger logger = nullptr) {
  const Plugin::Comm comm = plugin.Init(1, "", 1, 2, 0, logger);
  if (comm.result != 0) return 1;
  if (comm.mask != 0) return 2;
  if (comm.context == nullptr) return 3;
  DriveOnce(plugin, comm, 0);
  if (plugin.Finalize(comm.context) != 0) return 5;
  return 0;
}

}  // namespace sentinel::nccl_side
