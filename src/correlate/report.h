// What one rank last said of itself in a communicator that stands still, and what follows from
// comparing it with what it said before.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "model/progress.h"

namespace sentinel {

// How a rank stands towards one operation.
enum class Standing {
  kMissing,     // nothing is known of it
  kNotEntered,  // it has not enqueued the operation
  kEnqueued,    // enqueued; neither proxy nor kernel has taken it up
  kInside,
  kFinished,
};

class Report {
 public:
  // False if the digest is older than what is known (delivered late or twice) and was dropped.
  bool Take(const Digest& digest, Instant now);

  const Digest& digest() const { return digest_; }
  Instant arrived() const { return arrived_; }

  // Time since the rank's last receive-side progress. Only ages count; `now` adds the time since
  // they arrived.
  Duration Stalled(Instant now) const { return now - still_since_; }
  // The same for one edge of this digest.
  Duration Stalled(const EdgeProgress& edge, Instant now) const;

  // How often receive-side progress was seen from one digest to the next.
  uint32_t moves() const { return moves_; }
  // Equal where two ranks show the same recent calls (SameCall, at the same positions).
  uint64_t calls_mark() const { return calls_mark_; }
  // For how long consecutive digests have been equal in all but their ages.
  Duration Unchanged() const { return arrived_ - equal_since_; }

 private:
  Digest digest_;
  bool known_ = false;
  Instant arrived_;
  Instant still_since_;
  Instant equal_since_;
  uint64_t received_mark_ = 0;  // of what only progress changes
  uint64_t whole_mark_ = 0;
  uint64_t calls_mark_ = 0;
  uint32_t moves_ = 0;
};

bool IsP2p(Func func);
bool IsOpen(const Digest& digest);  // an operation is enqueued and not finished
// An operation of it, open or recent, is a Send or Recv or made of them.
bool CallsP2p(const Digest& digest);
// Its kernel runs, as far as kernels are watched: the rank itself has come to the operation.
bool HasStarted(const Digest& digest);
// Whether one rank's Send or Recv can meet the other's.
bool Pairs(Func one, Func other);
// The agent's last word on a communicator whose place on the board went to another.
bool IsFarewell(const Digest& digest);
bool IsStopped(const Vitals& vitals);
bool IsTraced(const Vitals& vitals);
bool IsDead(const Vitals& vitals);

// How the digest's rank stands towards `op`. `mixed`: the communicator also carries Send/Recv, so
// that positions differ between ranks and only (function, seq) names a collective.
Standing StandingOn(const Digest& digest, const Operation& op, bool mixed);

// The call at `peer` that meets `op`, a Send or Recv of `waiter`; null if it is not among the calls
// the digest shows.
const Operation* CounterpartIn(const Digest& peer, Rank waiter, const Operation& op);
// How `peer` stands towards that call. One that is enqueued behind an older operation has not been
// entered.
Standing StandingOfPeer(const Digest& peer, Rank waiter, const Operation& op);

// The first unfinished edge of a channel in one direction, to `peer` if given. A receive that waits
// for its sender comes before one whose data has arrived.
const EdgeProgress* OpenEdge(const Digest& digest, int channel, Direction direction,
                             std::optional<Rank> peer = std::nullopt);

}  // namespace sentinel
