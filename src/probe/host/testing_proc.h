// A /proc made of plain files, and a cgroup tree beside it, for tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "base/testing_folder.h"
#include "probe/host/proc_files.h"

namespace sentinel {

class TestingProc {
 public:
  TestingProc() { std::filesystem::create_directories(root_ / "proc"); }

  std::filesystem::path root() const { return root_; }
  ProcFiles files() const { return ProcFiles(root_ / "proc", root_ / "cgroup"); }

  struct Process {
    int pid = 0;
    int parent = 1;
    char state = 'S';
    uint64_t start_ticks = 100;
    uint64_t cpu_ticks = 0;
    uint64_t io_bytes = 0;
    std::string namespace_pids;  // "" : just the pid
    uint32_t uid = 0;
    std::string mount_namespace = "mnt:[1]";
    std::string more_status;
    unsigned flags = 0;
  };
  void Write(const Process& process) {
    const std::filesystem::path folder = Folder(process.pid);
    std::filesystem::create_directories(folder / "task");
    std::filesystem::create_directories(folder / "ns");
    WriteFile(folder / "stat", StatLine(process.pid, "python", process.state, process.parent,
                                        process.cpu_ticks, process.start_ticks, process.flags));
    const std::string pids =
        process.namespace_pids.empty() ? std::to_string(process.pid) : process.namespace_pids;
    const std::string uid = std::to_string(process.uid);
    WriteFile(folder / "status", "Uid:\t" + uid + "\t" + uid + "\t" + uid + "\t" + uid +
                                     "\nNSpid:\t" + pids + "\n" + process.more_status);
    WriteFile(folder / "io", "rchar: " + std::to_string(process.io_bytes) + "\nwchar: 0\n");
    WriteFile(folder / "cgroup", "0::/job\n");
    WriteFile(folder / "environ", "");
    std::filesystem::remove(folder / "ns/mnt");
    std::filesystem::create_symlink(process.mount_namespace, folder / "ns/mnt");
  }
  void WriteThread(int pid, int tid, const std::string& name, uint64_t cpu_ticks) {
    const std::filesystem::path folder = Folder(pid) / "task" / std::to_string(tid);
    std::filesystem::create_directories(folder);
    WriteFile(folder / "stat", StatLine(tid, name, 'S', 1, cpu_ticks, 100));
  }
  void Remove(int pid) { std::filesystem::remove_all(Folder(pid)); }

  std::filesystem::path Folder(int pid) const { return root_ / "proc" / std::to_string(pid); }

  static void WriteFile(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::trunc) << text;
  }

 private:
  static std::string StatLine(int pid, const std::string& name, char state, int parent,
                              uint64_t cpu_ticks, uint64_t start_ticks, unsigned flags = 0) {
    return std::to_string(pid) + " (" + name + ") " + state + " " + std::to_string(parent) +
           " 1 1 0 -1 " + std::to_string(flags) + " 0 0 0 0 " + std::to_string(cpu_ticks) +
           " 0 0 0 20 0 1 0 " + std::to_string(start_ticks) + " 0 0\n";
  }

  TestingFolder folder_;
  const std::filesystem::path root_ = folder_.path();
};

}  // namespace sentinel
