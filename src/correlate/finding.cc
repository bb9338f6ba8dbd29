#include "correlate/finding.h"

#include <algorithm>

namespace sentinel {

const Scene::Seat* Scene::Find(Rank rank) const {
  if (rank < 0) return nullptr;
  const size_t index = static_cast<size_t>(rank);
  // Most communicators are whole, and then a rank stands at its own number.
  if (index < seats_.size() && seats_[index].rank == rank) return &seats_[index];
  auto it = std::lower_bound(seats_.begin(), seats_.end(), rank,
                             [](const Seat& seat, Rank r) { return seat.rank < r; });
  return it != seats_.end() && it->rank == rank ? &*it : nullptr;
}

const Report* Scene::Of(Rank rank) const {
  const Seat* seat = Find(rank);
  return seat == nullptr ? nullptr : seat->report;
}

const Digest* Scene::DigestOf(Rank rank) const {
  const Report* report = Of(rank);
  return report == nullptr ? nullptr : &report->digest();
}

Standing Scene::StandingOf(Rank rank) const {
  const Digest* digest = DigestOf(rank);
  if (digest == nullptr || !op) return Standing::kMissing;
  return StandingOn(*digest, *op, mixed);
}

Standing Scene::StandingOf(const Seat& seat) const {
  if (seat.report == nullptr || !op) return Standing::kMissing;
  return StandingOn(seat.report->digest(), *op, mixed);
}

void AddOnce(std::vector<Rank>* ranks, Rank rank) {
  if (std::find(ranks->begin(), ranks->end(), rank) == ranks->end()) ranks->push_back(rank);
}

}  // namespace sentinel
