// Who waits for whom: what each open operation of a job lacks, in what its ranks may be held up,
// and where that leads.
//
// Only what can hold a rank up counts: an operation whose kernel has started and not ended,
// enqueued before the one that is missed. Knows nothing of blame.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "correlate/stall.h"

namespace sentinel {

// Ranks an operation lacks that are looked at; of more the first so many.
constexpr size_t kNeededMax = 512;
// Ranks that have arrived whose other operations are compared with those of one that has not.
constexpr size_t kPeersComparedMax = 4;

class WaitGraph {
 public:
  struct Surroundings {
    const Roster* roster;
    const CorrelateOptions* options;
    std::function<Duration(const Seat&)> silence;
    std::function<void(WatchedGroup*)> look;  // has a communicator's members asked for a while
    Instant now;
  };
  explicit WaitGraph(Surroundings around) : around_(std::move(around)) {}

  // What an operation lacks.
  struct Need {
    std::vector<Rank> ranks;    // have not entered it, or their kernel has not started
    std::vector<Rank> waiters;  // have started it
    bool unknown = false;       // somebody is not heard
    bool finished = false;      // somebody is through with it
  };
  // An operation that is waited in: a collective is one for all its ranks, a Send or Recv is its
  // caller's own.
  struct Wait {
    WatchedGroup* group = nullptr;
    Rank rank = -1;
    friend bool operator==(const Wait&, const Wait&) = default;
  };

  // The last word on a member; null if it is not heard. The dead need not be.
  const Digest* Heard(const Seat& seat) const;
  const Digest* Heard(const WatchedGroup& group, Rank rank) const;

  const Need& NeedOf(const Wait& wait);
  Need Collective(const WatchedGroup& group, const Operation& op) const;

  // The operations that can keep a rank from one it is missed in. `unasked`: there may be others,
  // in communicators that have not been heard of yet.
  std::vector<Wait> WaitsOf(WatchedGroup& group, Rank rank, const Operation& needed,
                            const Need& need, bool* unasked);

  // Follows waits until one leads to a rank that waits for nobody, or to an operation that
  // everybody has entered. Else they go in circles, or end at somebody who is not heard, and
  // `visited` has all of them.
  enum class End { kSomebody, kUnknown, kNowhere };
  End EndOf(const std::vector<Wait>& from, std::vector<Wait>* visited);

  const Surroundings& around() const { return around_; }

 private:
  struct Key {
    const WatchedGroup* group;
    uint64_t op;
    auto operator<=>(const Key&) const = default;
  };
  Key KeyOf(const Wait& wait) const;
  Need Peer(const WatchedGroup& group, Rank waiter, const Operation& op) const;
  bool PeersPassed(WatchedGroup& group, const Operation& needed, const Need& need,
                   const Wait& wait);

  Surroundings around_;
  std::map<Key, Need> needs_;
  std::set<Key> leads_;  // to somebody
};

}  // namespace sentinel
