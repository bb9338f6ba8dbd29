#include "probe/host/board_finder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

namespace sentinel {
namespace {

constexpr Duration kLookAgainFirst = std::chrono::seconds(1);
constexpr Duration kLookAgainMax = std::chrono::seconds(60);
// A process changes its namespace early in its life if ever: looked at in its scans 1, 2, 4, … and
// then each time so many have passed.
constexpr uint64_t kNamespaceLookEvery = 64;
// Going through all processes of a node is by far the dearest part of a scan, and a container takes
// longer than that to come to its first collective.
constexpr Duration kOtherNamespacesEvery = std::chrono::seconds(3);

}  // namespace

BoardFinder::BoardFinder(ProcFiles proc, std::string board_dir)
    : proc_(std::move(proc)), board_dir_(std::move(board_dir)) {
  const Result<std::string> own = proc_.MountNamespace(getpid());
  if (own.ok()) own_namespace_ = *own;
}

void BoardFinder::Release(const FileIdentity& identity) { out_.erase(identity); }

std::vector<FoundBoard> BoardFinder::Scan(Instant now) {
  ++scans_;
  refused_ = entries_ = unclaimed_looked_ = 0;
  index_.reset();
  std::vector<FoundBoard> found;
  const OwnedFd own(open(board_dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (own.open()) LookInto(own.get(), board_dir_, now, &found);
  const bool others = !others_at_ || now - *others_at_ >= kOtherNamespacesEvery;
  if (others) others_at_ = now;
  for (const int pid : others ? OtherNamespaces() : std::vector<int>()) {
    const OwnedFd folder = OpenFolderOf(pid);
    if (!folder.open()) continue;
    LookInto(folder.get(), proc_.proc() + "/" + std::to_string(pid) + "/root" + board_dir_, now,
             &found);
  }
  index_.reset();
  return found;
}

bool BoardFinder::FolderChanged() {
  struct stat status {};
  if (stat(board_dir_.c_str(), &status) != 0) return false;
  const FolderState now{
      {status.st_dev, status.st_ino}, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  return std::exchange(folder_, now) != now;
}

// One process for each mount namespace that is not ours.
std::vector<int> BoardFinder::OtherNamespaces() {
  for (const int pid : proc_.Pids()) {
    Namespace& known = namespaces_[pid];
    known.scan = scans_;
    ++known.looks;
    if (!std::has_single_bit(known.looks) && known.looks % kNamespaceLookEvery != 0) continue;
    const Result<std::string> name = proc_.MountNamespace(pid);
    known.name = name.ok() ? *name : std::string();
  }
  std::map<std::string, int> one_of;
  for (auto it = namespaces_.begin(); it != namespaces_.end();) {
    if (it->second.scan != scans_) {
      it = namespaces_.erase(it);
      continue;
    }
    const std::string& name = it->second.name;
    if (!name.empty() && name != own_namespace_) one_of.emplace(name, it->first);
    ++it;
  }
  std::vector<int> pids;
  pids.reserve(one_of.size());
  for (const auto& [name, pid] : one_of) pids.push_back(pid);
  if (pids.size() <= kNamespacesPerScanMax) return pids;
  std::rotate(pids.begin(), pids.begin() + static_cast<std::ptrdiff_t>(turn_ % pids.size()),
              pids.end());
  turn_ += kNamespacesPerScanMax;
  pids.resize(kNamespacesPerScanMax);
  return pids;
}

// Step by step without following links: an absolute one inside a container would lead to our own
// files.
OwnedFd BoardFinder::OpenFolderOf(int pid) const {
  const std::string root = proc_.proc() + "/" + std::to_string(pid) + "/root";
  OwnedFd folder(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::string_view rest = board_dir_;
  while (folder.open() && !rest.empty()) {
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string step(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (step.empty() || step == ".") continue;
    if (step == "..") return OwnedFd();
    const int access = rest.empty() ? O_RDONLY : O_PATH;
    folder =
        OwnedFd(openat(folder.get(), step.c_str(), access | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  return folder;
}

void BoardFinder::LookInto(int folder_fd, const std::string& path, Instant now,
                           std::vector<FoundBoard>* found) {
  const int duplicate = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (duplicate < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(fdopendir(duplicate), closedir);
  if (!folder) {
    close(duplicate);
    return;
  }
  for (size_t entries = 0; entries < kEntriesMax; ++entries) {
    const dirent* entry = readdir(folder.get());
    if (entry == nullptr) break;
    ++entries_;
    const std::optional<BoardName> name = ParseBoardName(entry->d_name);
    if (!name) continue;
    struct stat status {};
    if (fstatat(folder_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const FileIdentity identity{status.st_dev, status.st_ino};
    if (!S_ISREG(status.st_mode) || out_.contains(identity)) continue;
    const auto unclaimed = unclaimed_.find(identity);
    if (unclaimed != unclaimed_.end() && now < unclaimed->second.again) continue;
    if (out_.size() >= kBoardsMax) {
      ++refused_;
      continue;
    }
    const std::optional<int> pid = WriterOf(*name, status.st_uid);
    std::optional<FoundBoard> board;
    std::string why;
    if (pid) {
      Result<BoardFile> file = BoardFile::Open(folder_fd, entry->d_name,
                                               proc_.proc() + "/" + std::to_string(*pid) + "/fd");
      const bool same = file.ok() && file->identity() == identity && file->owner() == status.st_uid;
      if (same) {
        board = FoundBoard{std::move(file).value(), *pid, name->start_ticks,
                           path + "/" + entry->d_name};
      } else if (!file.ok()) {
        why = file.error().message;
      }
    }
    if (board) {
      if (unclaimed != unclaimed_.end()) unclaimed_.erase(unclaimed);
      out_.insert(identity);
      found->push_back(std::move(*board));
      continue;
    }
    ++unclaimed_looked_;
    // Left behind by a process that died, or not what it says: looked at again, ever more rarely.
    const Duration wait = unclaimed == unclaimed_.end()
                              ? kLookAgainFirst
                              : std::min<Duration>(unclaimed->second.wait * 2, kLookAgainMax);
    // Once is nothing: it may be being made.
    if (!why.empty() && wait == 2 * kLookAgainFirst && troubles_.size() < kTroublesMax) {
      troubles_.push_back({*pid, path + "/" + entry->d_name, why});
    }
    if (unclaimed_.size() >= kUnclaimedMax) unclaimed_.clear();
    unclaimed_[identity] = {now + wait, wait};
  }
}

std::optional<int> BoardFinder::WriterOf(const BoardName& name, uint32_t owner) {
  if (Matches(name.pid, name, owner)) return name.pid;
  if (!index_) {
    index_.emplace();
    for (const int pid : proc_.Pids()) {
      const Result<ProcStat> stat = proc_.Stat(pid);
      const Result<ProcStatus> status = proc_.Status(pid);
      if (!stat.ok() || !status.ok()) continue;
      const int as_seen = status->pids.empty() ? pid : status->pids.back();
      index_->emplace(std::pair(stat->start_ticks, as_seen), pid);
    }
  }
  // By both: many processes have started with one tick, and each forged name would ask them all.
  const auto [first, last] = index_->equal_range({name.start_ticks, static_cast<int>(name.pid)});
  for (auto it = first; it != last; ++it) {
    if (Matches(it->second, name, owner)) return it->second;
  }
  return std::nullopt;
}

bool BoardFinder::Matches(int pid, const BoardName& name, uint32_t owner) const {
  const Result<ProcStat> stat = proc_.Stat(pid);
  if (!stat.ok() || stat->start_ticks != name.start_ticks) return false;
  if (ProcessStateOf(stat->state) == ProcessState::kDead) return false;
  const Result<ProcStatus> status = proc_.Status(pid);
  if (!status.ok()) return false;
  const int as_seen = status->pids.empty() ? pid : status->pids.back();
  const auto& uids = status->uids;
  return as_seen == name.pid && std::find(uids.begin(), uids.end(), owner) != uids.end();
}

}  // namespace sentinel
