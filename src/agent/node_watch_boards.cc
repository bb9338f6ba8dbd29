// Which boards a NodeWatch has: found and admitted, their dead buried, let go, and remembered.
#include <poll.h>

#include <algorithm>
#include <utility>

#include "agent/node_watch.h"
#include "agent/watched_board.h"

namespace sentinel {
namespace {

using std::chrono::seconds;

// How a process ended is told by what changed since this was last looked at.
constexpr Duration kRememberEvery = seconds(10);
// How long a dead process is remembered after anybody asked.
constexpr Duration kDeadKept = seconds(120);

}  // namespace

void NodeWatch::Find(Instant now) {
  found_at_ = now;
  for (FoundBoard& found : finder_.Scan(now)) Admit(std::move(found), now);
  if (!remembered_at_ || now - *remembered_at_ >= kRememberEvery) {
    remembered_at_ = now;
    for (const std::unique_ptr<WatchedBoard>& board : boards_) {
      if (!board->dead()) board->vitals.Remember();
    }
  }
  for (const BoardFinder::Trouble& trouble : finder_.TakeTroubles()) {
    const bool denied = trouble.why.find("Permission denied") != std::string::npos;
    Note("board=unreadable pid=" + std::to_string(trouble.pid) + " path=\"" + trouble.path +
         "\" why=\"" + trouble.why + "\" effect=\"the process is not watched\"" +
         (denied ? " do=\"run the agent as root or give it CAP_SYS_PTRACE\"" : ""));
  }
  if (finder_.refused() != refused_) {
    refused_ = finder_.refused();
    Note("boards_refused=" + std::to_string(refused_) + " why=\"more than " +
         std::to_string(BoardFinder::kBoardsMax) + " boards\"");
  }
}

void NodeWatch::Admit(FoundBoard found, Instant now) {
  const int pid = found.pid;
  // A process that made its board anew: the old one tells nothing any more.
  std::erase_if(boards_, [&](const std::unique_ptr<WatchedBoard>& board) {
    const bool same =
        board->pid == pid && board->start_ticks == found.start_ticks && !board->dead();
    if (same) finder_.Release(board->identity);
    return same;
  });
  const Result<std::string> environ = proc_.Environ(pid);
  const Result<ProcCgroup> cgroup = proc_.Cgroup(pid);
  const std::string variables = environ.ok() ? *environ : std::string();
  const JobIdentity job = JobOf(variables, cgroup.ok() ? *cgroup : ProcCgroup{});
  const Result<std::string> pod_namespace = proc_.PodNamespace(pid);
  JobOwner owner = OwnerOf(variables, pod_namespace.ok() ? *pod_namespace : std::string());
  Place place;
  place.host = options_.host;
  place.gpu = LocalRankOf(variables);
  place.pid = pid;
  place.job_rank = JobRankOf(variables);
  const auto known =
      std::find_if(unclaimed_.begin(), unclaimed_.end(), [&](const LearnedProcess& learned) {
        return learned.pid == pid && learned.start_ticks == found.start_ticks &&
               learned.job == job.id;
      });
  Note("board=found pid=" + std::to_string(pid) + " job=\"" + job.id + "\" path=\"" + found.path +
       "\"" + (environ.ok() ? "" : " environ=unreadable") +
       (known != unclaimed_.end() ? " learned=before" : ""));
  int32_t job_ranks = JobSizeOf(variables);
  // Started as one rank and gone on as several (mp.spawn): the launcher's words are of none of
  // them.
  for (const std::unique_ptr<WatchedBoard>& board : boards_) {
    if (board->dead() || board->job != job.id || board->job_rank != place.job_rank) continue;
    board->watch.ForgetJobSize();
    job_ranks = 0;
  }
  boards_.push_back(std::make_unique<WatchedBoard>(options_.watch, proc_, std::move(found), job,
                                                   std::move(owner), place, job_ranks));
  boards_.back()->asked_at = now;
  boards_.back()->vitals.Remember();
  if (known != unclaimed_.end()) {
    boards_.back()->watch.Recall(std::move(*known));
    unclaimed_.erase(known);
  }
  inventory_due_ = true;
}

// One system call asks for all of them.
void NodeWatch::BuryTheDead(Instant now, std::vector<UpMessage>* out) {
  alive_at_ = now;
  std::vector<pollfd> ends(boards_.size());
  for (size_t i = 0; i < ends.size(); ++i) {
    ends[i] = {boards_[i]->dead() ? -1 : boards_[i]->vitals.ends(), POLLIN, 0};
  }
  poll(ends.data(), ends.size(), 0);
  for (size_t i = 0; i < ends.size(); ++i) {
    WatchedBoard& board = *boards_[i];
    const bool lives_on = ends[i].fd >= 0 && ends[i].revents == 0;
    if (!board.dead() && !lives_on && !board.vitals.Alive()) Bury(board, now, out);
  }
}

// The last word of a process: what its board shows now, since a container's memory goes with it.
void NodeWatch::Bury(WatchedBoard& board, Instant now, std::vector<UpMessage>* out) {
  board.ReadImage(&buffer_, now);
  board.file.reset();
  finder_.Release(board.identity);
  board.died_at = board.asked_at = now;
  const Vitals vitals = board.vitals.Look(now);
  const Ending ending = board.vitals.HowItEnded();
  if (ending.out_of_memory) {
    HostEvidence evidence;
    evidence.kind = "oom";
    evidence.host = options_.host;
    evidence.pid = board.pid;
    evidence.detail = "cgroup " + ending.cgroup;
    out->emplace_back(std::move(evidence));
  }
  for (Digest& digest : board.watch.Describe(nullptr, /*request_id=*/0, vitals, now)) {
    Locate(&digest.member);
    out->emplace_back(std::move(digest));
  }
  board.version = board.watch.version();
  inventory_due_ = true;
  Note("board=closed pid=" + std::to_string(board.pid) + " why=\"the process has ended\"" +
       (ending.out_of_memory ? " killed_for=memory" : "") +
       (ending.cgroup_empty ? " cgroup=empty" : ""));
}

void NodeWatch::Sweep(Instant now) {
  const auto let_go = [&](const std::unique_ptr<WatchedBoard>& board) {
    return board->dead() && now - std::max(board->died_at, board->asked_at) > kDeadKept;
  };
  size_t gone = std::erase_if(boards_, let_go);
  size_t dead = 0;
  for (const std::unique_ptr<WatchedBoard>& board : boards_) dead += board->dead();
  for (auto it = boards_.begin(); it != boards_.end() && dead > kDeadMax;) {
    if ((*it)->dead()) {
      it = boards_.erase(it);
      --dead;
      ++gone;
    } else {
      ++it;
    }
  }
  if (gone > 0) inventory_due_ = true;
}

void NodeWatch::Recall(Learned learned) { unclaimed_ = std::move(learned.processes); }

Learned NodeWatch::Remember(Instant now) const {
  Learned learned;
  for (const std::unique_ptr<WatchedBoard>& board : boards_) {
    if (board->dead()) continue;
    LearnedProcess process = board->watch.Remember(now);
    process.pid = board->pid;
    process.start_ticks = board->start_ticks;
    process.job = board->job;
    process.seen = now;
    learned.processes.push_back(std::move(process));
  }
  for (const LearnedProcess& process : unclaimed_) {
    if (now - process.seen <= kUnclaimedKept) learned.processes.push_back(process);
  }
  return learned;
}

}  // namespace sentinel
