// What the judges see and what they find, before facts of the host and limits come in.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "correlate/report.h"
#include "model/communicator.h"
#include "model/verdict.h"

namespace sentinel {

// A longer list of suspects names nobody; it is left empty and the evidence says how many there
// are.
constexpr size_t kSuspectsMax = 64;

// The members of one communicator as they last reported. Points to what it is made from; valid as
// long as that.
class Scene {
 public:
  struct Seat {
    Rank rank = -1;
    const Report* report = nullptr;  // null: nothing is known, neither good nor bad
    bool silent = false;             // its agent has not been heard of
    int32_t job_rank = -1;           // in the whole job; -1: not known
  };

  Scene(int32_t nranks, int32_t nodes) : nranks_(nranks), nodes_(nodes) {}
  void Reserve(size_t seats) { seats_.reserve(seats); }
  void Add(Seat seat) { seats_.push_back(seat); }  // in rising order of ranks

  int32_t nranks() const { return nranks_; }
  int32_t nodes() const { return nodes_; }
  const std::vector<Seat>& seats() const { return seats_; }
  const Seat* Find(Rank rank) const;  // null: there is none
  const Report* Of(Rank rank) const;
  const Digest* DigestOf(Rank rank) const;

  // The operation all of this is about, once it is chosen.
  std::optional<Operation> op;
  bool mixed = false;
  Standing StandingOf(Rank rank) const;
  Standing StandingOf(const Seat& seat) const;

 private:
  int32_t nranks_;
  int32_t nodes_;
  std::vector<Seat> seats_;
};

struct Finding {
  HangClass hang_class = HangClass::kUnknown;
  std::optional<Rank> rank;    // the culprit, where it is one rank alone
  std::vector<Edge> edges;     // frozen ones; the first is the one the walk ended at
  std::vector<Rank> suspects;  // where rank is empty: "one of"
  std::optional<Operation> op;
  std::optional<Rank> waiter;  // a rank that waits directly for the culprit
  std::vector<Rank> missing;   // ranks that would have to be asked and do not answer
  int channels_agreeing = 0;
  int channels = 0;
  bool by_waits = false;       // a MISMATCH that nothing but a circle of waits tells
  size_t suspects_beyond = 0;  // how many there would be, where they are too many to list
};

void AddOnce(std::vector<Rank>* ranks, Rank rank);

}  // namespace sentinel
