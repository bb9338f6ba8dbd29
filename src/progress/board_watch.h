// One training process's board over time: which of its communicators stand still, and what to say
// of them.
//
// Pure: the caller reads the board, brings the time, and knows the process. The board's content is
// not believed beyond what it says about itself: job, host and pid come from the caller.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/agent_message.h"
#include "model/board_image.h"
#include "model/communicator.h"
#include "model/progress.h"
#include "progress/call_marks.h"
#include "progress/comm_watch.h"
#include "progress/learned.h"
#include "progress/operation_picture.h"

namespace sentinel {

// How far a job's name reaches: one that stands for a single node (a pod's) cannot name a
// communicator that spans several, which then goes without.
enum class JobScope { kCluster, kNode };

class BoardWatch {
 public:
  // Communicators followed of one board; lines beyond are not watched.
  static constexpr size_t kSlotsMax = 64;

  // The place's pci is filled in by each communicator's own. `job_ranks`: how many the job has, 0:
  // not known. Where NCCL does not tell a communicator's size (up to 2.26) it stands in for that:
  // none is larger, and all members say the same, so that they meet.
  BoardWatch(const WatchOptions& options, std::string job, JobScope scope, Place place,
             int32_t job_ranks = 0);
  BoardWatch(const BoardWatch&) = delete;
  BoardWatch& operator=(const BoardWatch&) = delete;

  // A routine scan. True if the whole board is wanted now: a communicator has become suspect or is
  // not known yet, or its operations have not been looked at for long.
  bool OnHeader(const BoardHeader& header, Instant now);
  void OnImage(const BoardImage& image, Instant now);

  // What to say unasked at `now`: of each communicator that has become suspect, is still suspect a
  // second later, or is not any more. Call it after each scan and its full read.
  std::vector<Digest> Due(const Vitals& vitals, Instant now);
  // Whoever was told is gone: Due says again what is suspect.
  void Forget();

  // Marks of the members' call order that have been seen since this was last asked; of whoever is
  // not identified yet they wait.
  void TakeCallOrder(std::vector<MemberCalls>* out);

  // Every member in `comm`; every member of the board if it is null.
  std::vector<Digest> Describe(const CommKey* comm, uint64_t request_id, const Vitals& vitals,
                               Instant now) const;

  // Sorted by slot. A finalized communicator stays until its slot is used again: that it was
  // finalized is worth knowing.
  std::vector<Member> Members() const;
  // Another number whenever Members() has changed.
  uint64_t version() const { return version_; }

  // Whether a communicator has been found since this was last asked of which nobody knows the size:
  // its stalls are not seen.
  bool TakeUnsized() { return std::exchange(unsized_, false); }

  // Several processes say that they are this rank of the job: what was said of it, its size too, is
  // not about one of them.
  void ForgetJobSize();

  // Something has stood still for half of the shortest limit: a good time to look at the process.
  bool Suspects() const;
  uint64_t overslept() const { return overslept_; }  // scans that came too late to tell silence

  // What was learned of the board's communicators, for a watch that comes after this one; and taken
  // up, before the first scan. What does not belong to this very board and its communicators, or
  // runs ahead of them, is let go.
  LearnedProcess Remember(Instant now) const;
  void Recall(LearnedProcess learned);

 private:
  struct Slot {
    explicit Slot(CommWatch comm_watch) : watch(std::move(comm_watch)) {}
    CommWatch watch;
    OperationPicture picture;
    CallMarks marks;
    bool identified = false;
    bool size_assumed = false;  // the job's
    int reads = 0;              // full ones, while it was not identified
    int unsized = 0;            // of these, that gave it a name and no size
    Member member;
    bool reported = false;
    Instant reported_at;
  };

  void Observe(const BoardHeader& header, bool scan, Instant now);
  void Replace(int index, const CommLine& line, Instant now);
  void Retire(const Slot& slot);
  bool Unknown(const Slot& slot) const;
  int32_t SizeOf(const CommImage& comm) const;
  Digest Make(const Slot& slot, uint64_t request_id, const Vitals& vitals, Instant now) const;

  const WatchOptions options_;
  const std::string job_;
  const JobScope scope_;
  const Place place_;
  int32_t job_ranks_;
  bool unsized_ = false;
  std::map<int, Slot> slots_;
  uint64_t generation_ = 0;
  uint64_t version_ = 0;
  uint64_t overslept_ = 0;
  std::optional<Instant> scanned_;
  std::optional<Instant> asked_;  // for the whole board
  Duration learn_every_{0};
  uint64_t finished_ = 0;          // operations of all communicators, at the last scan
  uint64_t finished_learned_ = 0;  // and at the last full read
  std::vector<Member> retired_;    // suspect when their slot went to another; to be said once
  LearnedProcess recalled_;        // what is not taken up yet
};

}  // namespace sentinel
