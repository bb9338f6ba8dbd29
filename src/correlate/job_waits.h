// Who waits for whom across the communicators of one job.
//
// A rank that holds one operation up may itself wait in another, and then it is a victim and the
// other has to be followed. Only what can hold it up counts: an operation whose kernel has started
// and not ended, enqueued before the one that is missed. Rules: docs/detection.md, "Across
// communicators".
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "correlate/judgement.h"
#include "correlate/stall.h"

namespace sentinel {

// Ranks an operation lacks that are looked at; of more the first so many.
constexpr size_t kNeededMax = 512;
// Ranks that have arrived whose other operations are compared with those of one that has not.
constexpr size_t kPeersComparedMax = 4;

class JobWaits {
 public:
  struct Surroundings {
    const Roster* roster;
    const CorrelateOptions* options;
    std::function<Duration(const Seat&)> silence;
    std::function<void(WatchedGroup*)> look;  // has a communicator's members asked for a while
    Instant now;
  };
  explicit JobWaits(Surroundings around) : around_(std::move(around)) {}

  // Leaves in `finding` only those who have no operation elsewhere to wait for.
  Elsewhere Follow(WatchedGroup& from, const Scene& scene, Finding* finding);

 private:
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
  struct Key {
    const WatchedGroup* group;
    uint64_t op;
    auto operator<=>(const Key&) const = default;
  };
  enum class Excuse { kNone, kElsewhere, kCircle, kUnasked };

  const Digest* Heard(const WatchedGroup& group, const Seat& seat) const;
  const Digest* Heard(const WatchedGroup& group, Rank rank) const;
  Key KeyOf(const Wait& wait) const;
  const Need& NeedOf(const Wait& wait);
  Need Collective(const WatchedGroup& group, const Operation& op) const;
  Need Peer(const WatchedGroup& group, Rank waiter, const Operation& op) const;
  std::vector<Wait> WaitsOf(WatchedGroup& group, Rank rank, const Operation& needed,
                            const Need& need, bool* unasked);
  bool PeersPassed(WatchedGroup& group, const Operation& needed, const Need& need,
                   const Wait& wait);
  enum class End { kSomebody, kUnknown, kNowhere };
  End EndOf(const std::vector<Wait>& from, std::vector<Wait>* visited);
  Excuse ExcuseOf(WatchedGroup& group, Rank rank, const Operation& needed, const Need& need,
                  std::vector<Wait>* circle, Wait* where);
  Elsewhere OnCircle(const WatchedGroup& from, const Need& need, const std::vector<Rank>& in_circle,
                     const std::vector<Wait>& circle, Finding* finding);
  Duration StillMin(const Scene& scene, const Need& need) const;
  Duration StillEverywhere(WatchedGroup& group, Rank rank, std::optional<Instant>* looked);

  Surroundings around_;
  std::map<Key, Need> needs_;
  std::set<Key> leads_;  // to somebody
};

}  // namespace sentinel
