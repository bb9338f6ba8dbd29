// Connects a rank to those it sends to and those it receives from, before the job begins.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "probe/host/proc_files.h"
#include "ring/live/plan.h"

namespace sentinel {

enum class WireUse { kRing, kP2p };

// One connection of the job. Its sender says this first, as one line.
struct WireName {
  uint64_t comm = 0;
  WireUse use = WireUse::kRing;
  int channel = 0;
  Rank from = -1;  // world ranks
  Rank to = -1;

  auto operator<=>(const WireName&) const = default;
};
std::string WireLine(const WireName& name);                    // with its newline
std::optional<WireName> ParseWireLine(std::string_view line);  // without

using Wires = std::map<WireName, OwnedFd>;

// Listens where the plan says, until it is destroyed.
class Wiring {
 public:
  static Result<Wiring> Listen(const JobPlan& plan, Rank rank);

  // Connects `outgoing` and accepts `incoming`, whoever is there first. A connection counts once
  // its receiver has answered; one that ends before is tried again. kTimeout names who is missing.
  Result<Wires> Connect(const std::vector<WireName>& outgoing,
                        const std::vector<WireName>& incoming, Duration within);

 private:
  Wiring(const JobPlan& plan, OwnedFd listener) : plan_(plan), listener_(std::move(listener)) {}
  struct Attempt {
    OwnedFd fd;
    std::string answer;
  };
  void TryConnect(const WireName& name, Attempt* attempt) const;
  void Accept(const std::vector<WireName>& incoming, Wires* wires) const;

  const JobPlan& plan_;
  OwnedFd listener_;
};

}  // namespace sentinel
