#include "correlate/correlator.h"

#include <algorithm>
#include <map>

#include "correlate/host_facts.h"
#include "correlate/job_extent.h"
#include "correlate/job_lamp.h"
#include "correlate/job_waits.h"
#include "correlate/roster.h"
#include "correlate/stall.h"

namespace sentinel {
namespace {

constexpr Duration kSweepEvery = std::chrono::seconds(1);
constexpr size_t kStallsMax = 4096;  // watched at once; beyond it a further one is not opened
constexpr size_t kEpochsMax = 400'000;

}  // namespace

class Correlator::Impl {
 public:
  explicit Impl(CorrelateOptions options)
      : options_(options), roster_([](const CommKey& key, uint32_t generation) {
          return std::unique_ptr<Group>(std::make_unique<WatchedGroup>(key, generation));
        }) {}

  void Reconfigure(CorrelateOptions options) { options_ = options; }

  void OnInventory(const AgentId& agent, const Inventory& inventory, Instant now) {
    Awake(now);
    roster_.SetInventory(agent, inventory, now);
  }

  void OnDigest(const AgentId& agent, const Digest& digest, Instant now) {
    Awake(now);
    Group* found = nullptr;
    Seat* seat = roster_.SeatFor(agent, digest.member, now, &found);
    if (seat == nullptr) return;
    WatchedGroup& group = static_cast<WatchedGroup&>(*found);
    const bool watched = group.watched();
    if (!watched && active_.size() >= kStallsMax) return;
    WatchedGroup::Around around = AroundOf(&group, nullptr, now);
    group.OnDigest(seat, digest, around, now);
    if (!watched && group.watched()) active_.push_back(&group);
  }

  void OnCallOrder(const AgentId& agent, const CallOrder& order, Instant now) {
    Awake(now);
    (void)roster_.Heard(agent, now);
    for (const MemberCalls& calls : order.members) {
      Group* found = nullptr;
      Seat* seat = roster_.FindSeat(agent, calls.comm, calls.rank, calls.pid, &found);
      if (seat == nullptr) continue;
      WatchedGroup& group = static_cast<WatchedGroup&>(*found);
      const bool watched = group.watched();
      const bool may_ask = watched || active_.size() < kStallsMax;
      group.OnMarks(seat, calls.marks, may_ask, now);
      if (!watched && group.watched()) active_.push_back(&group);
    }
  }

  void OnEvidence(const AgentId& agent, const HostEvidence& evidence, Instant now) {
    Awake(now);
    (void)roster_.Heard(agent, now);
    facts_.Take(evidence, now);
  }
  void OnHeard(const AgentId& agent, Instant now) {
    Awake(now);
    (void)roster_.Heard(agent, now);
  }
  void OnDisconnected(const AgentId& agent, Instant now) {
    Awake(now);
    roster_.Disconnected(agent);
  }

  Actions Advance(Instant now) {
    Awake(now);
    Actions actions;
    JobWaits waits({&roster_, &options_,
                    [this, now](const Seat& seat) { return Silence(seat, now); },
                    [this, now](WatchedGroup* group) { Look(group, now); }, now});
    // Groups join while others are advanced.
    for (size_t i = 0; i < active_.size(); ++i) {
      WatchedGroup* group = active_[i];
      const WatchedGroup::Around around = AroundOf(group, &waits, now);
      std::optional<Verdict> lamp;
      if (group->red()) lamp = *group->said();
      group->Advance(around, now, &actions);
      if (lamp && !group->red()) lamps_.Healed(*lamp, now);
    }
    std::erase_if(active_, [](const WatchedGroup* group) { return !group->watched(); });
    if (now - swept_ >= kSweepEvery) {
      swept_ = now;
      roster_.Sweep(now, [](const Group& group) {
        return static_cast<const WatchedGroup&>(group).watched();
      });
    }
    return actions;
  }

  std::optional<Instant> NextWake() const {
    std::optional<Instant> wake;
    for (const WatchedGroup* group : active_) {
      const std::optional<Instant> mine = group->NextWake();
      if (mine && (!wake || *mine < *wake)) wake = mine;
    }
    return wake;
  }

  JobFacts ExtentOf(const CommKey& comm) const { return sentinel::ExtentOf(roster_, comm); }

  std::vector<Verdict> Open(Instant now) const {
    std::vector<Verdict> open;
    for (const WatchedGroup* group : active_) {
      if (std::optional<Verdict> verdict = group->Standing(now)) open.push_back(*verdict);
    }
    return open;
  }

 private:
  // If nobody called for longer than an agent may be silent, it was we who slept, and no agent is
  // silent for it.
  void Awake(Instant now) {
    if (now - called_ >= options_.agent_silent_after) awake_since_ = now;
    called_ = now;
  }

  Duration Silence(const Seat& seat, Instant now) const {
    return std::max(now - std::max(seat.agent->heard, awake_since_), Duration{0});
  }

  void Look(WatchedGroup* group, Instant now) {
    const bool watched = group->watched();
    if (!watched && active_.size() >= kStallsMax) return;
    group->Look(now);
    if (!watched) active_.push_back(group);
  }

  WatchedGroup::Around AroundOf(WatchedGroup* group, JobWaits* waits, Instant now) {
    WatchedGroup::Around around;
    around.options = &options_;
    around.facts = &facts_;
    around.silence = [this, now](const Seat& seat) { return Silence(seat, now); };
    around.follow = [waits](WatchedGroup& from, const Scene& scene, Finding* finding) {
      return waits->Follow(from, scene, finding);
    };
    around.shown = [this, now](const WatchedGroup& of, const Judgement& judgement) {
      return lamps_.Shown(of, judgement, active_, now);
    };
    around.next_epoch = [this, group] { return NextEpoch(group->key()); };
    around.next_request = [this] { return ++requests_; };
    return around;
  }

  // Counts on for a key even when its communicator goes and comes back.
  uint64_t NextEpoch(const CommKey& key) {
    if (epochs_.size() >= kEpochsMax && !epochs_.count(key)) epochs_.erase(epochs_.begin());
    return ++epochs_[key];
  }

  CorrelateOptions options_;
  Roster roster_;
  HostFacts facts_;
  JobLamps lamps_;
  std::vector<WatchedGroup*> active_;  // in the order in which their stalls were opened
  std::map<CommKey, uint64_t> epochs_;
  uint64_t requests_ = 0;
  Instant called_;
  Instant awake_since_;
  Instant swept_;
};

Correlator::Correlator(CorrelateOptions options) : impl_(std::make_unique<Impl>(options)) {}
Correlator::~Correlator() = default;
void Correlator::Reconfigure(CorrelateOptions options) { impl_->Reconfigure(options); }

void Correlator::OnInventory(const AgentId& agent, const Inventory& inventory, Instant now) {
  impl_->OnInventory(agent, inventory, now);
}
void Correlator::OnDigest(const AgentId& agent, const Digest& digest, Instant now) {
  impl_->OnDigest(agent, digest, now);
}
void Correlator::OnCallOrder(const AgentId& agent, const CallOrder& order, Instant now) {
  impl_->OnCallOrder(agent, order, now);
}
void Correlator::OnEvidence(const AgentId& agent, const HostEvidence& evidence, Instant now) {
  impl_->OnEvidence(agent, evidence, now);
}
void Correlator::OnHeard(const AgentId& agent, Instant now) { impl_->OnHeard(agent, now); }
void Correlator::OnDisconnected(const AgentId& agent, Instant now) {
  impl_->OnDisconnected(agent, now);
}
Correlator::Actions Correlator::Advance(Instant now) { return impl_->Advance(now); }
std::optional<Instant> Correlator::NextWake() const { return impl_->NextWake(); }
JobFacts Correlator::ExtentOf(const CommKey& comm) const { return impl_->ExtentOf(comm); }
std::vector<Verdict> Correlator::Open(Instant now) const { return impl_->Open(now); }

}  // namespace sentinel
