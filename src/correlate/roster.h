// Who takes part in which communicator, and whose agent speaks for whom.
//
// Inventories may contradict each other (two jobs with one commId, a rank that was started anew
// elsewhere): two live members that claim one rank stand in two generations of the communicator.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "correlate/order_table.h"
#include "correlate/report.h"
#include "model/agent_message.h"
#include "model/communicator.h"

namespace sentinel {

using AgentId = std::string;

// Bounds. What would go beyond them is refused and counted.
constexpr size_t kAgentsMax = 65536;
constexpr size_t kMembershipsMax = 2'000'000;
constexpr size_t kCommunicatorsMax = 200'000;
constexpr size_t kGenerationsMax = 8;
constexpr int32_t kRanksMax = 1 << 20;

// How long a member that left its inventory is still asked about: its death may be reported after
// it has gone.
constexpr Duration kLeaveGrace = std::chrono::seconds(3);
// An agent unheard of for so long has no members any more.
constexpr Duration kForgetAgentAfter = std::chrono::minutes(10);

struct Agent {
  AgentId id;
  Instant heard;
  bool connected = true;
};

struct Seat {
  Member member;
  Agent* agent = nullptr;
  std::optional<Instant> left;     // no longer in the inventory, since
  std::unique_ptr<Report> report;  // while the communicator is watched
  uint64_t answered = 0;           // of the last round it answered
  uint32_t judged_moves = 0;       // report->moves() when the stall was last judged
  OrderTable::Stance order;        // its call order towards that of the others
};

// One communicator in one generation.
class Group {
 public:
  Group(CommKey key, uint32_t generation) : key_(std::move(key)), generation_(generation) {}
  virtual ~Group() = default;

  const CommKey& key() const { return key_; }
  uint32_t generation() const { return generation_; }
  std::map<Rank, Seat>& seats() { return seats_; }
  const std::map<Rank, Seat>& seats() const { return seats_; }
  Seat* Find(Rank rank) {
    auto it = seats_.find(rank);
    return it == seats_.end() ? nullptr : &it->second;
  }
  const Seat* Find(Rank rank) const {
    auto it = seats_.find(rank);
    return it == seats_.end() ? nullptr : &it->second;
  }

 private:
  CommKey key_;
  uint32_t generation_;
  std::map<Rank, Seat> seats_;
};

class Roster {
 public:
  // Makes the groups; a caller may hang its own state on them.
  using MakeGroup = std::unique_ptr<Group> (*)(const CommKey& key, uint32_t generation);
  explicit Roster(MakeGroup make) : make_(make) {}

  Agent& Heard(const AgentId& agent, Instant now);
  void Disconnected(const AgentId& agent);
  void SetInventory(const AgentId& agent, const Inventory& inventory, Instant now);

  // The seat a digest of this agent is about; enrols a member the inventory has not named yet.
  // Null at a bound or for a member that cannot be (a negative rank, one beyond nranks).
  Seat* SeatFor(const AgentId& agent, const Member& member, Instant now, Group** group);

  // The seat of a process that an inventory or a digest has named; null if there is none.
  Seat* FindSeat(const AgentId& agent, const CommKey& comm, Rank rank, int pid, Group** group);

  // What an agent speaks for.
  const std::set<std::pair<Group*, Rank>>& HeldBy(const AgentId& agent) const;

  // Forgets members that left, and agents that are gone for good. Groups for which `keep` is true
  // keep their seats.
  void Sweep(Instant now, bool (*keep)(const Group&));

  std::map<CommKey, std::vector<std::unique_ptr<Group>>>& groups() { return groups_; }
  const std::map<CommKey, std::vector<std::unique_ptr<Group>>>& groups() const { return groups_; }
  uint64_t refused() const { return refused_; }
  size_t memberships() const { return memberships_; }

 private:
  Seat* Enrol(Agent& agent, const Member& member, Instant now, Group** group);
  static bool Live(const Seat& seat, Instant now);

  MakeGroup make_;
  std::map<AgentId, std::unique_ptr<Agent>> agents_;
  std::map<AgentId, std::set<std::pair<Group*, Rank>>> held_;  // what each agent speaks for
  std::map<CommKey, std::vector<std::unique_ptr<Group>>> groups_;
  size_t memberships_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace sentinel
