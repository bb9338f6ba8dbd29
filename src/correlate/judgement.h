// From a finding to a judgement: facts of processes and hosts come in, the class is settled, and
// with it how long the stall clock has to run before a lamp is due.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "correlate/call_order.h"
#include "correlate/correlator.h"
#include "correlate/finding.h"
#include "correlate/host_facts.h"

namespace sentinel {

// Why a lamp waits longer than its class would have it, or stays dark.
enum class Hold {
  kNone,
  kTraced,      // a debugger holds the culprit
  kAllStopped,  // every rank is stopped together: suspended, not hung
  kEnding,      // the job was told to end, or its ranks are dying together
  kWorks,       // the late rank's process tree works, or it is not known that it does not
  kHistory,     // the job has waited so long before, or has not run long enough to know
  kUnanswered,  // somebody who would have to be asked does not answer
  kNoCall,      // nobody has an operation open
  kElsewhere,   // whoever is missed waits in another communicator
  kComes,       // whoever is missed moves: it is on its way
  kAsking,      // whether it does is not known yet
  kShown,       // the lamp for this job's hang is on already
  kSuspended,   // a fact of the host vetoes
};

// What the waits of the whole job say of those whom an operation lacks.
struct Elsewhere {
  bool all = false;         // all of them wait elsewhere or are on their way: nobody is to be named
  bool comes = false;       // with `all`: somebody moves, and is on its way
  bool nobody = false;      // nobody has come to the operation, so that nobody waits in it
  bool circle = false;      // all wait, and their waits go in a circle that is told here
  bool unasked = false;     // somebody's other communicators have not been heard of yet
  std::optional<Rank> who;  // one of them, and where it waits
  std::optional<CommKey> where;
  std::string where_name;
  // When the oldest of what is known of the other communicators of those blamed came in.
  std::optional<Instant> looked;
  std::optional<Duration> still;  // since a process that is blamed last moved, in any communicator
};
using FollowJob = std::function<Elsewhere(const Scene&, Finding*)>;

struct Judgement {
  Finding finding;
  HangClass hang_class = HangClass::kUnknown;
  std::optional<HangClass> signature;
  std::optional<Disagreement> disagreement;
  Elsewhere elsewhere;
  bool before_hang = false;  // found by call order alone: nobody waits
  HostFacts::Applied facts;
  std::vector<Rank> also_down;    // dead or stopped beside the culprit
  Duration clock{0};              // the stall clock
  std::optional<Duration> limit;  // red when the clock reaches it; none: no lamp
  Hold hold = Hold::kNone;
  History history;              // of those who wait, where it counted
  size_t waiting = 0;           // members that are suspect
  size_t reported = 0;          // members of which something is known
  std::optional<Rank> subject;  // whose clock it is
};

// How long an agent has been silent that a member of `rank` depends on; 0 if it is heard.
using SilenceOf = std::function<Duration(Rank)>;
using PlaceOf = std::function<const Place*(Rank)>;

// What a disagreement by itself comes to: no stall is needed for it, and red is due at once.
Judgement JudgeOrder(const Scene& scene, const Disagreement& disagreement);

Judgement Judge(Scene* scene, const CorrelateOptions& options, const HostFacts& facts,
                const PlaceOf& place_of, const SilenceOf& silence_of, const FollowJob& follow,
                Instant now);

}  // namespace sentinel
