// A small training job for tests: tensor, pipeline and data parallel ranks that run a 1F1B program
// on several streams, their hosts running ahead of their devices, with a fault that stops one of
// them. What its boards would show is made into digests. It knows nothing of the rules that judge
// them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "correlate/scenario.h"

namespace sentinel {

enum class JobFault {
  kNone,
  kHostAbsent,    // its host calls nothing any more
  kLate,          // the same, but it works
  kComputeStuck,  // a kernel of its own program does not end; other streams go on
  kGpuDead,       // nothing on its GPU goes on
  kProxyFrozen,   // its NCCL progress thread stands still
  kNetwork,       // nothing that it sends leaves its node
  kStopped,
  kKilled,
  kMissingSend,    // leaves one Send out
  kMismatchOrder,  // calls two collectives in the other order
};
const char* JobFaultName(JobFault fault);

struct JobOptions {
  int tensor = 2;
  int pipeline = 2;
  int data = 2;
  int cards_per_node = 8;
  int microbatches = 4;
  bool overlap = true;         // gradients are reduced beside the backward pass
  bool tensor_stream = false;  // tensor parallel collectives have a stream of their own
  bool infiniband = true;
  int run_ahead = 200;  // calls a host may be ahead of its device
};

class JobModel {
 public:
  static constexpr Duration kTick = std::chrono::milliseconds(5);

  JobModel(JobOptions options, uint64_t seed);

  int ranks() const { return static_cast<int>(ranks_.size()); }
  Instant now() const { return now_; }
  // Lets one tick pass.
  void Tick();
  void Break(Rank rank, JobFault fault);
  void Heal(Rank rank);
  // Nothing has moved for so long.
  Duration Still() const { return now_ - moved_; }
  // Iterations the slowest rank has finished.
  uint64_t Iterations() const;

  const std::string& HostOf(Rank rank) const { return ranks_[static_cast<size_t>(rank)].host; }
  // Communicators by number; a digest's comm_id is the number + 1.
  size_t comms() const { return comms_.size(); }
  const std::vector<Rank>& MembersOf(size_t comm) const { return comms_[comm].members; }
  // What an agent says of a rank (of the world) in a communicator.
  Digest DigestOf(Rank rank, size_t comm);
  bool Suspect(Rank rank, size_t comm) const;
  // The world's rank that a verdict's process is.
  static Rank WorldOf(const Place& place) { return place.pid - 1000; }
  // The boards in words, for a person who looks for what went wrong.
  std::string Shown();

 private:
  static constexpr size_t kNoComm = SIZE_MAX;
  static constexpr int kComputeStream = 0, kDataStream = 1, kPipelineStream = 2, kTensorStream = 3;
  enum class Kind { kCompute, kCollective, kSend, kRecv, kSync };
  struct Item {
    Kind kind = Kind::kCompute;
    int stream = 0;
    Duration length{0};
    size_t comm = 0;
    Func func = Func::kUnknown;
    Rank peer = -1;      // in the communicator
    uint64_t index = 0;  // in the communicator
    uint64_t pair = 0;   // of Send and Recv between two ranks
    int launch = 0;      // items of one number start together
    std::vector<size_t> after;
    bool iteration_end = false;
    Instant enqueued{}, started{}, finished{};
    bool is_enqueued = false, is_started = false, is_finished = false;
    bool unseen = false;    // its start was not seen by the progress thread
    bool taken_up = false;  // by the progress thread
  };
  struct Seen {  // what a board and its agent know of one communicator
    Rank rank = -1;
    uint64_t enqueued = 0, finished = 0;
    std::deque<size_t> open;
    std::vector<Operation> recent;
    Instant changed{};
    Duration gap_max{0};
    uint64_t calls = 0;
    std::map<std::pair<Rank, bool>, uint64_t> pairs;
  };
  struct RankState {
    std::string host;
    std::deque<Item> items;
    std::vector<std::deque<size_t>> streams;
    size_t next = 0;
    uint64_t order = 0;
    uint64_t iterations = 0;
    int launches = 0;
    size_t last_compute = SIZE_MAX;
    std::map<size_t, Seen> comms;
    JobFault fault = JobFault::kNone;
    Instant worked{};  // its process tree, last
    bool skip_send = false;
    bool swap_order = false;
    size_t stuck_item = SIZE_MAX;
    size_t outstanding = 0;
  };
  struct Comm {
    std::string name;
    std::vector<Rank> members;
    int nodes = 1;
    Rank Of(Rank world) const;
  };
  struct Meeting {
    int started = 0;
    bool broken = false;
    bool done = false;
    Instant ready{};
    JobFault fault = JobFault::kNone;
    Rank culprit = -1;
  };
  using MeetingKey = std::tuple<size_t, uint64_t, Rank, Rank>;

  size_t AddComm(std::string name, std::vector<Rank> members);
  Item& Emit(Rank rank, Kind kind, int stream, Duration length);
  void Compute(Rank rank, int ms);
  void Collective(Rank rank, size_t comm, Func func, int stream, bool wait);
  struct Transfer {
    bool send;
    Rank peer;  // world
  };
  void Transfers(Rank rank, const std::vector<Transfer>& transfers);
  void WaitFor(Rank rank, size_t item);
  void Layers(Rank rank, int parts);
  void Program(Rank rank);
  void Host(Rank rank);
  void Device(Rank rank);
  bool MayStart(const RankState& state, const Item& item) const;
  void Start(Rank rank, size_t at);
  void TryFinish(Rank rank, size_t at);
  void Finish(Rank rank, size_t at);
  void Progressed(Rank rank, size_t comm);
  bool Crosses(size_t comm, Rank a, Rank b) const;
  bool SendsOut(size_t comm, Rank rank) const;
  MeetingKey KeyOf(Rank rank, const Item& item) const;
  const Item* ItemOf(Rank rank, size_t comm, uint64_t index) const;
  void CollectiveEdges(size_t comm, uint64_t index, Rank rank, Digest* d);
  void TransferEdges(Rank rank, const Item& item, Digest* d);
  int Pick(int low, int high);

  JobOptions options_;
  std::mt19937_64 chance_;
  uint64_t seed_;
  Instant now_{std::chrono::seconds(1000)};
  Instant moved_;
  std::vector<Comm> comms_;
  std::vector<RankState> ranks_;
  std::map<MeetingKey, Meeting> meetings_;
  std::map<size_t, std::pair<std::string, std::vector<Digest>>> rings_;  // as last made, by comm
  std::vector<size_t> tensor_of_, pipeline_of_, data_of_;
  size_t world_ = 0;
};

}  // namespace sentinel
