#include "agent/node_watch.h"

#include <algorithm>
#include <utility>

#include "agent/watched_board.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kFindEvery = seconds(1);
// What has just come has had time to be finished; a folder in which something comes all the time is
// not gone through all the time.
constexpr Duration kFindSoon = milliseconds(50);
constexpr Duration kFindGap = milliseconds(250);
constexpr Duration kAliveEvery = milliseconds(100);
constexpr Duration kOrderEvery = milliseconds(250);
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
constexpr Duration kBadBoardEvery = seconds(1);

}  // namespace

std::unique_ptr<NodeWatch> NodeWatch::Create(NodeWatchOptions options) {
  return std::make_unique<NodeWatch>(std::move(options), ProcFiles());
}

NodeWatch::NodeWatch(NodeWatchOptions options, ProcFiles proc)
    : options_(std::move(options)), proc_(proc), finder_(proc, options_.board_dir) {}

NodeWatch::~NodeWatch() = default;

std::vector<UpMessage> NodeWatch::Scan(Instant now) {
  std::vector<UpMessage> digests;
  if (finder_.FolderChanged() && find_at_) {
    const Duration gap = finder_.strained() ? kFindEvery : kFindGap;
    find_at_ = std::min(*find_at_, std::max(now + kFindSoon, found_at_ + gap));
  }
  if (!find_at_ || now >= *find_at_) {
    find_at_ = now + kFindEvery;
    Find(now);
    Sweep(now);
  }
  full_reads_left_ = kFullReadsPerScanMax;
  if (!alive_at_ || now - *alive_at_ >= kAliveEvery) BuryTheDead(now, &digests);
  for (const std::unique_ptr<WatchedBoard>& board : boards_) ScanBoard(*board, now, &digests);

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
  for (const std::unique_ptr<WatchedBoard>& board : boards_) board->watch.TakeCallOrder(&members);
  for (size_t told = 0; told < members.size(); told += kCallOrderMembersMax) {
    const size_t end = std::min(told + kCallOrderMembersMax, members.size());
    CallOrder order;
    std::move(members.begin() + static_cast<ptrdiff_t>(told),
              members.begin() + static_cast<ptrdiff_t>(end), std::back_inserter(order.members));
    out->emplace_back(std::move(order));
  }
}

void NodeWatch::ScanBoard(WatchedBoard& board, Instant now, std::vector<UpMessage>* out) {
  if (board.dead()) return;
  Measure(board, now);
  if (now < board.bad_until || !ReadHeader(board, now)) return;
  const uint64_t overslept = board.watch.overslept();
  if (board.watch.OnHeader(*board.header, now)) {
    if (full_reads_left_ > 0) {
      --full_reads_left_;
      board.ReadImage(&buffer_, now);
    }
  }
  overslept_ += board.watch.overslept() - overslept;
  if (board.watch.TakeUnsized()) {
    Note("board=blind pid=" + std::to_string(board.pid) +
         " why=\"NCCL up to 2.26 does not tell how many ranks a communicator has, and the "
         "environment not how many the job has\" effect=\"its stalls are not seen\" "
         "do=\"start each rank with a RANK of its own and WORLD_SIZE, or use NCCL 2.27\"");
  }
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

bool NodeWatch::ReadHeader(WatchedBoard& board, Instant now) {
  const Status read = board.ReadHeader(now);
  if (read.ok()) return true;
  if (read.error().code == ErrorCode::kUnavailable) return false;  // still being made
  board.bad_until = now + kBadBoardEvery;
  if (!board.bad_noted) {
    board.bad_noted = true;
    Note("board=unreadable pid=" + std::to_string(board.pid) + " path=\"" + board.path +
         "\" why=\"" + read.error().message + "\"");
  }
  return false;
}

std::vector<UpMessage> NodeWatch::Answer(const DetailRequest& request, Instant now) {
  std::vector<UpMessage> out;
  for (const std::unique_ptr<WatchedBoard>& board : boards_) {
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
      if (changed || now - *board->imaged_at > fresh) board->ReadImage(&buffer_, now);
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
  for (const std::unique_ptr<WatchedBoard>& board : boards_) board->watch.Forget();
}

void NodeWatch::Measure(WatchedBoard& board, Instant now) {
  if (now >= board.interest_until) return;
  if (board.measured_at && now - *board.measured_at < kMeasureEvery) return;
  board.measured_at = now;
  if (!tree_ || now - tree_at_ >= kTreeEvery) {
    tree_ = ProcessTree::Read(proc_);
    tree_at_ = now;
  }
  board.vitals.Measure(*tree_, now);
}

Inventory NodeWatch::inventory() const {
  Inventory inventory;
  for (const std::unique_ptr<WatchedBoard>& board : boards_) {
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
