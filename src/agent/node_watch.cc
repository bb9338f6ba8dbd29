#include "agent/node_watch.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "board/decoder.h"
#include "probe/host/job_identity.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kFindEvery = seconds(1);
constexpr Duration kAliveEvery = milliseconds(100);
constexpr Duration kOrderEvery = milliseconds(250);
// How a process ended is told by what changed since this was last looked at.
constexpr Duration kRememberEvery = seconds(10);
constexpr Duration kInventoryEvery = milliseconds(100);
// Two measurements span the window by which a process is idle. They cost a few milliseconds each
// and are only made while somebody wants to know.
constexpr Duration kMeasureEvery = milliseconds(250);
constexpr Duration kTreeEvery = seconds(1);
constexpr Duration kInterestAfterRequest = seconds(5);
constexpr Duration kInterestAfterSuspicion = seconds(2);
// A request is answered from a read no older than this; of a board that has stood still for long,
// from one no older than that.
constexpr Duration kImageFresh = milliseconds(40);
constexpr Duration kImageFreshLater = milliseconds(400);
constexpr Duration kLater = seconds(5);
// How long a dead process is remembered after anybody asked.
constexpr Duration kDeadKept = seconds(120);
constexpr Duration kBadBoardEvery = seconds(1);

}  // namespace

struct NodeWatch::Board {
  Board(const WatchOptions& options, const ProcFiles& proc, FoundBoard found,
        const JobIdentity& in_job, JobOwner whose, const Place& place)
      : file(std::move(found.file)),
        identity(file->identity()),
        path(std::move(found.path)),
        pid(found.pid),
        start_ticks(found.start_ticks),
        job(in_job.id),
        owner(std::move(whose)),
        vitals(proc, found.pid, found.start_ticks),
        watch(options, in_job.id, in_job.one_node ? JobScope::kNode : JobScope::kCluster, place) {}

  bool dead() const { return !file.has_value(); }

  std::optional<BoardFile> file;  // none: the process is dead
  FileIdentity identity;
  std::string path;
  int pid;
  uint64_t start_ticks;
  std::string job;
  JobOwner owner;
  ProcessVitals vitals;
  BoardWatch watch;

  std::optional<BoardHeader> header;
  size_t scan_bytes = kBoardHeaderBytes;  // of the header, that a scan reads
  Instant header_changed;
  std::optional<Instant> imaged_at;
  std::optional<Instant> measured_at;
  Instant interest_until{};
  Instant bad_until{};
  bool bad_noted = false;
  uint64_t version = 0;
  Instant died_at{};
  Instant asked_at{};
  std::array<std::byte, kBoardHeaderBytes> raw{};  // the last header read, as bytes
};

std::unique_ptr<NodeWatch> NodeWatch::Create(NodeWatchOptions options) {
  return std::make_unique<NodeWatch>(std::move(options), ProcFiles());
}

NodeWatch::NodeWatch(NodeWatchOptions options, ProcFiles proc)
    : options_(std::move(options)), proc_(proc), finder_(proc, options_.board_dir) {}

NodeWatch::~NodeWatch() = default;

std::vector<UpMessage> NodeWatch::Scan(Instant now) {
  std::vector<UpMessage> digests;
  if (!found_at_ || now - *found_at_ >= kFindEvery) {
    Find(now);
    Sweep(now);
  }
  full_reads_left_ = kFullReadsPerScanMax;
  if (!alive_at_ || now - *alive_at_ >= kAliveEvery) BuryTheDead(now, &digests);
  for (const std::unique_ptr<Board>& board : boards_) ScanBoard(*board, now, &digests);

  std::vector<UpMessage> out;
  const bool settled = !inventory_at_ || now - *inventory_at_ >= kInventoryEvery;
  if (inventory_due_ && settled) {
    inventory_due_ = false;
    inventory_at_ = now;
    out.emplace_back(inventory());
  }
  std::move(digests.begin(), digests.end(), std::back_inserter(out));
  if (!order_at_ || now - *order_at_ >= kOrderEvery) {
    order_at_ = now;
    TellCallOrder(&out);
  }
  return out;
}

void NodeWatch::TellCallOrder(std::vector<UpMessage>* out) {
  std::vector<MemberCalls> members;
  for (const std::unique_ptr<Board>& board : boards_) board->watch.TakeCallOrder(&members);
  for (size_t told = 0; told < members.size(); told += kCallOrderMembersMax) {
    const size_t end = std::min(told + kCallOrderMembersMax, members.size());
    CallOrder order;
    std::move(members.begin() + static_cast<ptrdiff_t>(told),
              members.begin() + static_cast<ptrdiff_t>(end), std::back_inserter(order.members));
    out->emplace_back(std::move(order));
  }
}

void NodeWatch::Find(Instant now) {
  found_at_ = now;
  for (FoundBoard& found : finder_.Scan(now)) Admit(std::move(found), now);
  if (!remembered_at_ || now - *remembered_at_ >= kRememberEvery) {
    remembered_at_ = now;
    for (const std::unique_ptr<Board>& board : boards_) {
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
  std::erase_if(boards_, [&](const std::unique_ptr<Board>& board) {
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
  boards_.push_back(std::make_unique<Board>(options_.watch, proc_, std::move(found), job,
                                            std::move(owner), place));
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
    Board& board = *boards_[i];
    const bool lives_on = ends[i].fd >= 0 && ends[i].revents == 0;
    if (!board.dead() && !lives_on && !board.vitals.Alive()) Bury(board, now, out);
  }
}

void NodeWatch::ScanBoard(Board& board, Instant now, std::vector<UpMessage>* out) {
  if (board.dead()) return;
  Measure(board, now);
  if (now < board.bad_until || !ReadHeader(board, now)) return;
  const uint64_t overslept = board.watch.overslept();
  if (board.watch.OnHeader(*board.header, now)) {
    if (full_reads_left_ > 0) {
      --full_reads_left_;
      ReadImage(board, now);
    }
  }
  overslept_ += board.watch.overslept() - overslept;
  if (board.watch.Suspects()) {
    board.interest_until = std::max(board.interest_until, now + kInterestAfterSuspicion);
  }
  std::vector<Digest> due = board.watch.Due({}, now);
  if (!due.empty()) {
    const Vitals vitals = board.vitals.Look(now);
    for (Digest& digest : due) {
      const bool ended = digest.vitals.ending;
      digest.vitals = vitals;
      digest.vitals.ending = vitals.ending || ended;
      Locate(&digest.member);
      out->emplace_back(std::move(digest));
    }
  }
  if (board.version != board.watch.version()) {
    board.version = board.watch.version();
    inventory_due_ = true;
  }
}

// Only as far as its communicators reach: at rest, this and the wake-up are what the agent costs.
bool NodeWatch::ReadHeader(Board& board, Instant now) {
  std::array<std::byte, kBoardHeaderBytes> start;  // NOLINT: filled by the read
  const std::span wanted = std::span(start).first(board.header ? board.scan_bytes : start.size());
  Status read = board.file->ReadStart(wanted);
  if (read.ok() && board.header && std::equal(wanted.begin(), wanted.end(), board.raw.begin())) {
    return true;
  }
  const size_t comms_before = board.header ? board.header->comms.size() : 0;
  if (read.ok()) std::copy(wanted.begin(), wanted.end(), board.raw.begin());
  Result<BoardHeader> header =
      read.ok() ? DecodeBoardHeader(board.raw) : Result<BoardHeader>(read.error());
  // There are more than the last read reached: what is behind them may be old.
  if (header.ok() && board.header && header->comms.size() > comms_before) {
    read = board.file->ReadStart(board.raw);
    header = read.ok() ? DecodeBoardHeader(board.raw) : Result<BoardHeader>(read.error());
  }
  if (header.ok()) {
    board.header = std::move(header).value();
    board.scan_bytes = BoardScanBytes(*board.header);
    board.header_changed = now;
    board.bad_noted = false;
    return true;
  }
  board.header.reset();
  if (header.error().code == ErrorCode::kUnavailable) return false;  // still being made
  board.bad_until = now + kBadBoardEvery;
  if (!board.bad_noted) {
    board.bad_noted = true;
    Note("board=unreadable pid=" + std::to_string(board.pid) + " path=\"" + board.path +
         "\" why=\"" + header.error().message + "\"");
  }
  return false;
}

void NodeWatch::ReadImage(Board& board, Instant now) {
  if (!board.file->ReadAll(&buffer_).ok()) return;
  const Result<BoardImage> image = DecodeBoard(buffer_);
  if (!image.ok()) return;
  board.watch.OnImage(*image, now);
  board.imaged_at = now;
}

// The last word of a process: what its board shows now, since a container's memory goes with it.
void NodeWatch::Bury(Board& board, Instant now, std::vector<UpMessage>* out) {
  ReadImage(board, now);
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

std::vector<UpMessage> NodeWatch::Answer(const DetailRequest& request, Instant now) {
  std::vector<UpMessage> out;
  for (const std::unique_ptr<Board>& board : boards_) {
    const std::vector<Member> members = board->watch.Members();
    const bool concerned = std::any_of(members.begin(), members.end(), [&](const Member& member) {
      return member.comm == request.comm;
    });
    if (!concerned) continue;
    board->asked_at = now;
    board->interest_until = std::max(board->interest_until, now + kInterestAfterRequest);
    if (!board->dead()) {
      const bool long_still = now - board->header_changed > kLater;
      const Duration fresh = long_still ? kImageFreshLater : kImageFresh;
      const bool changed = !board->imaged_at || *board->imaged_at < board->header_changed;
      if (changed || now - *board->imaged_at > fresh) ReadImage(*board, now);
    }
    const Vitals vitals = board->vitals.Look(now);
    for (Digest& digest : board->watch.Describe(&request.comm, request.request_id, vitals, now)) {
      Locate(&digest.member);
      out.emplace_back(std::move(digest));
    }
  }
  return out;
}

void NodeWatch::Greet() {
  inventory_due_ = true;
  inventory_at_.reset();
  for (const std::unique_ptr<Board>& board : boards_) board->watch.Forget();
}

void NodeWatch::Measure(Board& board, Instant now) {
  if (now >= board.interest_until) return;
  if (board.measured_at && now - *board.measured_at < kMeasureEvery) return;
  board.measured_at = now;
  if (!tree_ || now - tree_at_ >= kTreeEvery) {
    tree_ = ProcessTree::Read(proc_);
    tree_at_ = now;
  }
  board.vitals.Measure(*tree_, now);
}

void NodeWatch::Sweep(Instant now) {
  const auto let_go = [&](const std::unique_ptr<Board>& board) {
    return board->dead() && now - std::max(board->died_at, board->asked_at) > kDeadKept;
  };
  size_t gone = std::erase_if(boards_, let_go);
  size_t dead = 0;
  for (const std::unique_ptr<Board>& board : boards_) dead += board->dead();
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
  for (const std::unique_ptr<Board>& board : boards_) {
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

Inventory NodeWatch::inventory() const {
  Inventory inventory;
  for (const std::unique_ptr<Board>& board : boards_) {
    std::vector<Member> members = board->watch.Members();
    for (Member& member : members) Locate(&member);
    std::move(members.begin(), members.end(), std::back_inserter(inventory.members));
    const bool told = std::any_of(inventory.jobs.begin(), inventory.jobs.end(),
                                  [&](const OwnedJob& other) { return other.job == board->job; });
    if (!told && !board->job.empty() && board->owner != JobOwner{}) {
      inventory.jobs.push_back({board->job, board->owner});
    }
  }
  return inventory;
}

size_t NodeWatch::boards() const {
  return static_cast<size_t>(std::count_if(boards_.begin(), boards_.end(),
                                           [](const auto& board) { return !board->dead(); }));
}

// The bus knows a card's number; what the process says of itself is second best.
void NodeWatch::Locate(Member* member) const {
  for (const GpuIdentity& gpu : options_.gpus) {
    if (!gpu.pci.empty() && gpu.pci == member->place.pci) member->place.gpu = gpu.index;
  }
}

void NodeWatch::Note(std::string note) {
  if (notes_.size() < kNotesMax) notes_.push_back(std::move(note));
}

std::vector<std::string> NodeWatch::TakeNotes() { return std::exchange(notes_, {}); }

}  // namespace sentinel
