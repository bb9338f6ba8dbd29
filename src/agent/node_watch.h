// Everything one node's boards have to say: finds them, scans them, knows their processes, and
// turns it all into messages. No network, no thread, no clock of its own: whoever owns it calls
// Scan every scan_period and passes on what comes back.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/agent_message.h"
#include "probe/host/board_finder.h"
#include "probe/host/process_vitals.h"
#include "progress/board_watch.h"

namespace sentinel {

struct NodeWatchOptions {
  std::string host;
  std::string board_dir = "/dev/shm";
  WatchOptions watch;
  std::vector<GpuIdentity> gpus;  // to tell a card's number by its PCI address
};

struct WatchedBoard;

class NodeWatch {
 public:
  // Whole boards read in one scan; those beyond wait for the next.
  static constexpr int kFullReadsPerScanMax = 16;
  // What was learned of processes whose boards have not been found is kept for so long.
  static constexpr Duration kUnclaimedKept = std::chrono::minutes(10);
  // Boards of dead processes that are kept as evidence; beyond it the longest dead is let go.
  static constexpr size_t kDeadMax = 256;
  static constexpr size_t kNotesMax = 256;

  static std::unique_ptr<NodeWatch> Create(NodeWatchOptions options);
  NodeWatch(NodeWatchOptions options, ProcFiles proc);
  ~NodeWatch();

  // One scan of all boards. Returns what there is to say: a new Inventory first, then Digests, and
  // every quarter of a second the call order of whoever has called.
  std::vector<UpMessage> Scan(Instant now);
  // The digests of all members of that communicator on this node, from boards read now.
  std::vector<UpMessage> Answer(const DetailRequest& request, Instant now);
  // Somebody new listens: the next Scan says the whole inventory and every suspect again.
  void Greet();

  // What an earlier watch of this boot has learned, before the first Scan; and what is to be told
  // to a later one, `boot` left to the caller. Of dead processes nothing is remembered.
  void Recall(Learned learned);
  Learned Remember(Instant now) const;

  Inventory inventory() const;
  size_t boards() const;  // of live processes
  uint64_t overslept() const { return overslept_; }

  // What an operator may want to read in the log, since the last call; `key=value` lines.
  std::vector<std::string> TakeNotes();

 private:
  void Find(Instant now);
  void Admit(FoundBoard found, Instant now);
  void BuryTheDead(Instant now, std::vector<UpMessage>* out);
  void ScanBoard(WatchedBoard& board, Instant now, std::vector<UpMessage>* out);
  bool ReadHeader(WatchedBoard& board, Instant now);
  void Bury(WatchedBoard& board, Instant now, std::vector<UpMessage>* out);
  void TellCallOrder(std::vector<UpMessage>* out);
  void Measure(WatchedBoard& board, Instant now);
  void Sweep(Instant now);
  void Locate(Member* member) const;
  void Note(std::string note);

  const NodeWatchOptions options_;
  const ProcFiles proc_;
  BoardFinder finder_;
  std::vector<std::unique_ptr<WatchedBoard>> boards_;
  std::vector<LearnedProcess> unclaimed_;
  std::vector<std::byte> buffer_;  // one whole board, shared by all reads
  int full_reads_left_ = 0;
  Instant found_at_;
  std::optional<Instant> find_at_;  // when boards are next looked for
  std::optional<Instant> alive_at_;
  std::optional<Instant> remembered_at_;
  std::optional<ProcessTree> tree_;
  Instant tree_at_;
  bool inventory_due_ = true;
  std::optional<Instant> inventory_at_;
  std::optional<Instant> order_at_;
  uint64_t overslept_ = 0;
  size_t refused_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace sentinel
