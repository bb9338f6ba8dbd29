#include "correlate/roster.h"

#include <algorithm>

namespace sentinel {
namespace {

bool Possible(const Member& member) {
  return member.rank >= 0 && member.rank < member.comm.nranks && member.comm.nranks <= kRanksMax;
}

bool SameProcess(const Place& a, const Place& b) { return a.host == b.host && a.pid == b.pid; }

}  // namespace

Agent& Roster::Heard(const AgentId& agent, Instant now) {
  auto it = agents_.find(agent);
  if (it == agents_.end()) {
    if (agents_.size() >= kAgentsMax) {
      // The one unheard of for longest makes room.
      auto oldest = std::min_element(
          agents_.begin(), agents_.end(),
          [](const auto& a, const auto& b) { return a.second->heard < b.second->heard; });
      SetInventory(oldest->first, {}, now);
      oldest->second->connected = false;
      for (const auto& [group, rank] : held_[oldest->first]) {
        if (group->seats().erase(rank) > 0) --memberships_;
      }
      held_.erase(oldest->first);
      agents_.erase(oldest);
      ++refused_;
    }
    it = agents_.emplace(agent, std::make_unique<Agent>()).first;
    it->second->id = agent;
  }
  it->second->heard = now;
  it->second->connected = true;
  return *it->second;
}

void Roster::Disconnected(const AgentId& agent) {
  auto it = agents_.find(agent);
  if (it != agents_.end()) it->second->connected = false;
}

bool Roster::Live(const Seat& seat, Instant now) {
  if (seat.left) return false;
  if (seat.report != nullptr && IsDead(seat.report->digest().vitals)) return false;
  return seat.agent->connected || now - seat.agent->heard < kLeaveGrace;
}

Seat* Roster::Enrol(Agent& agent, const Member& member, Instant now, Group** group) {
  if (!Possible(member)) {
    ++refused_;
    return nullptr;
  }
  auto found = groups_.find(member.comm);
  if (found == groups_.end()) {
    if (groups_.size() >= kCommunicatorsMax) {
      ++refused_;
      return nullptr;
    }
    found = groups_.try_emplace(member.comm).first;
  }
  std::vector<std::unique_ptr<Group>>& generations = found->second;

  // Where this very process already sits, else the first generation in which the rank is free. A
  // process of the same agent gives way too: the inventory is whole, so its absence is its end.
  Group* free = nullptr;
  for (const std::unique_ptr<Group>& candidate : generations) {
    Seat* seat = candidate->Find(member.rank);
    if (seat != nullptr && seat->agent == &agent && SameProcess(seat->member.place, member.place)) {
      free = candidate.get();
      break;
    }
  }
  for (size_t i = 0; free == nullptr && i < generations.size(); ++i) {
    Seat* seat = generations[i]->Find(member.rank);
    if (seat == nullptr || !Live(*seat, now)) free = generations[i].get();
  }
  if (free == nullptr) {
    if (generations.size() >= kGenerationsMax || memberships_ >= kMembershipsMax) {
      ++refused_;
      return nullptr;
    }
    generations.push_back(make_(member.comm, static_cast<uint32_t>(generations.size())));
    free = generations.back().get();
  }
  Seat* seat = free->Find(member.rank);
  if (seat == nullptr) {
    if (memberships_ >= kMembershipsMax) {
      ++refused_;
      return nullptr;
    }
    seat = &free->seats()[member.rank];
    ++memberships_;
  } else {
    if (!SameProcess(seat->member.place, member.place)) {
      seat->report.reset();
      seat->judged_moves = 0;
      seat->order = {};
    }
    if (seat->agent != &agent) held_[seat->agent->id].erase({free, member.rank});
  }
  seat->member = member;
  seat->agent = &agent;
  seat->left.reset();
  held_[agent.id].insert({free, member.rank});
  if (group != nullptr) *group = free;
  return seat;
}

void Roster::SetInventory(const AgentId& id, const Inventory& inventory, Instant now) {
  Agent& agent = Heard(id, now);
  // First what it no longer names, so that a process that was started anew finds its rank free.
  std::set<std::pair<CommKey, Rank>> named;
  std::map<std::pair<CommKey, Rank>, const Place*> places;
  for (const Member& member : inventory.members) {
    places[{member.comm, member.rank}] = &member.place;
  }
  for (const auto& [group, rank] : held_[id]) {
    Seat* seat = group->Find(rank);
    if (seat == nullptr || seat->left) continue;
    auto it = places.find({group->key(), rank});
    if (it == places.end() || !SameProcess(*it->second, seat->member.place)) seat->left = now;
  }
  for (const Member& member : inventory.members) (void)Enrol(agent, member, now, nullptr);
}

Seat* Roster::SeatFor(const AgentId& id, const Member& member, Instant now, Group** group) {
  Agent& agent = Heard(id, now);
  auto found = groups_.find(member.comm);
  if (found != groups_.end()) {
    for (const std::unique_ptr<Group>& candidate : found->second) {
      Seat* seat = candidate->Find(member.rank);
      if (seat != nullptr && seat->agent == &agent &&
          SameProcess(seat->member.place, member.place)) {
        *group = candidate.get();
        return seat;
      }
    }
    // A process that has been replaced says its last: nobody's seat any more.
    for (const std::unique_ptr<Group>& candidate : found->second) {
      Seat* seat = candidate->Find(member.rank);
      if (seat != nullptr && seat->agent == &agent && !seat->left) return nullptr;
    }
  }
  return Enrol(agent, member, now, group);
}

Seat* Roster::FindSeat(const AgentId& id, const CommKey& comm, Rank rank, int pid, Group** group) {
  auto found = groups_.find(comm);
  if (found == groups_.end()) return nullptr;
  for (const std::unique_ptr<Group>& candidate : found->second) {
    Seat* seat = candidate->Find(rank);
    if (seat != nullptr && seat->agent->id == id && seat->member.place.pid == pid && !seat->left) {
      *group = candidate.get();
      return seat;
    }
  }
  return nullptr;
}

const std::set<std::pair<Group*, Rank>>& Roster::HeldBy(const AgentId& agent) const {
  static const std::set<std::pair<Group*, Rank>> kNothing;
  auto it = held_.find(agent);
  return it == held_.end() ? kNothing : it->second;
}

void Roster::Sweep(Instant now, bool (*keep)(const Group&)) {
  for (auto& [id, agent] : agents_) {
    if (now - agent->heard <= kForgetAgentAfter) continue;
    for (const auto& [group, rank] : held_[id]) {
      Seat* seat = group->Find(rank);
      if (seat != nullptr && !seat->left) seat->left = now;
    }
  }
  for (auto it = groups_.begin(); it != groups_.end();) {
    for (std::unique_ptr<Group>& group : it->second) {
      if (keep(*group)) continue;
      for (auto seat = group->seats().begin(); seat != group->seats().end();) {
        if (seat->second.left && now - *seat->second.left > kLeaveGrace) {
          held_[seat->second.agent->id].erase({group.get(), seat->first});
          seat = group->seats().erase(seat);
          --memberships_;
        } else {
          ++seat;
        }
      }
    }
    // Only from the end: a generation's number is its place.
    while (!it->second.empty() && it->second.back()->seats().empty() && !keep(*it->second.back())) {
      it->second.pop_back();
    }
    it = it->second.empty() ? groups_.erase(it) : std::next(it);
  }
  for (auto it = agents_.begin(); it != agents_.end();) {
    if (now - it->second->heard > kForgetAgentAfter && held_[it->first].empty()) {
      held_.erase(it->first);
      it = agents_.erase(it);
    } else {
      ++it;
    }
  }
}

}  // namespace sentinel
