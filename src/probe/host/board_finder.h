// Finds the progress boards of a node's training processes: in the board folder, and in the same
// folder as processes in other mount namespaces see it, so that containers need no mounts.
//
// Anyone may put a file there. A board counts only if a live process has the pid and start time its
// name claims, in some pid namespace, and that process's user owns the file. Nothing is ever
// written or deleted.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "probe/host/board_file.h"
#include "probe/host/proc_files.h"

namespace sentinel {

struct FoundBoard {
  BoardFile file;
  int pid = 0;  // as this host sees it
  uint64_t start_ticks = 0;
  std::string path;  // for people
};

class BoardFinder {
 public:
  // Boards out at once. Beyond it new ones are left where they are, and refused() counts.
  static constexpr size_t kBoardsMax = 256;
  // Folders of other mount namespaces looked into in one scan; the next scan goes on behind them.
  static constexpr size_t kNamespacesPerScanMax = 64;
  static constexpr size_t kEntriesMax = 16384;   // of one folder, in one scan
  static constexpr size_t kUnclaimedMax = 1024;  // names without a process that are remembered
  static constexpr size_t kEntriesEasy = 2048;
  static constexpr size_t kUnclaimedEasy = 64;

  BoardFinder(ProcFiles proc, std::string board_dir);

  // Boards not handed out before, or released since. Other mount namespaces are looked into in the
  // first scan, and then in one every three seconds.
  std::vector<FoundBoard> Scan(Instant now);
  // Whether anything was put into the board folder, or taken out, since this was last asked: one
  // system call. Two changes within one tick of the kernel's clock may pass for one.
  bool FolderChanged();
  void Release(const FileIdentity& identity);

  // Boards of live processes that cannot be opened, each with the reason, told once, when it has
  // been tried twice; at most kTroublesMax wait to be taken.
  static constexpr size_t kTroublesMax = 64;
  struct Trouble {
    int pid = 0;
    std::string path;
    std::string why;
  };
  std::vector<Trouble> TakeTroubles() { return std::exchange(troubles_, {}); }

  // Whether the last scan met so many files or names without a process that the next had better
  // wait.
  bool strained() const { return entries_ > kEntriesEasy || unclaimed_looked_ > kUnclaimedEasy; }

  // Boards that did not fit, at the last scan.
  size_t refused() const { return refused_; }

 private:
  struct Namespace {
    std::string name;  // empty: not known yet
    uint64_t looks = 0;
    uint64_t scan = 0;  // when the pid was last there
  };
  struct Unclaimed {
    Instant again;
    Duration wait;
  };
  struct FolderState {
    FileIdentity identity;
    int64_t changed_s = 0;
    int64_t changed_ns = 0;
    auto operator<=>(const FolderState&) const = default;
  };
  using Index = std::multimap<std::pair<uint64_t, int>, int>;  // start time, pid as it sees itself

  std::vector<int> OtherNamespaces();
  void LookInto(int folder_fd, const std::string& path, Instant now,
                std::vector<FoundBoard>* found);
  OwnedFd OpenFolderOf(int pid) const;
  std::optional<int> WriterOf(const BoardName& name, uint32_t owner);
  bool Matches(int pid, const BoardName& name, uint32_t owner) const;

  ProcFiles proc_;
  std::string board_dir_;
  std::map<int, Namespace> namespaces_;  // by pid
  std::string own_namespace_;
  std::optional<Instant> others_at_;  // when the other namespaces were last looked into
  std::optional<FolderState> folder_;
  uint64_t scans_ = 0;
  size_t turn_ = 0;
  std::set<FileIdentity> out_;
  std::map<FileIdentity, Unclaimed> unclaimed_;
  std::optional<Index> index_;  // made at most once a scan, when a name needs it
  size_t refused_ = 0;
  size_t entries_ = 0;           // of all folders, at the last scan
  size_t unclaimed_looked_ = 0;  // names for which a process was looked for in vain
  std::vector<Trouble> troubles_;
};

}  // namespace sentinel
