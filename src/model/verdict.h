// Who is to blame for a stall, and how sure we are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/progress.h"

namespace sentinel {

// A closed set (design, section 5).
enum class HangClass : uint8_t {
  kNotEntered,
  kGpuNotStarted,
  kGpuStuck,
  kProxyStuck,
  kNetwork,
  kPcie,
  kMismatch,
  kProcessDead,
  kProcessStopped,
  kWaiting,
  kSlow,
  kUnknown,
};
constexpr size_t kHangClasses = 12;
std::string_view HangClassName(HangClass hang_class);  // "NOT_ENTERED" …
std::optional<HangClass> HangClassFromName(std::string_view name);

struct Edge {
  Rank from = -1;
  Rank to = -1;
  auto operator<=>(const Edge&) const = default;
};

struct Culprit {
  std::optional<Rank> rank;  // none: not one rank alone; see edge and suspects
  Place place;               // of that rank; empty if none
  std::string nic;
  std::optional<Edge> edge;
};

// How far a verdict has come. It only rises until it heals.
enum class VerdictStage : uint8_t {
  kSuspected,  // one agent sees no progress
  kConfirmed,  // two equal digests of the members, at least 50 ms apart
  kRed,        // the stall clock has passed the limit of its class: a lamp is due
  kHealed,     // the operation moves again, or the communicator has ended
};
std::string_view VerdictStageName(VerdictStage stage);

// One line of evidence, in words for a person, in both languages the floor speaks.
struct EvidenceLine {
  std::string zh;
  std::string en;
  friend bool operator==(const EvidenceLine&, const EvidenceLine&) = default;
};

struct Verdict {
  CommKey comm;
  uint64_t epoch =
      0;  // counts the stalls of this communicator: with the key, what an incident is named by
  VerdictStage stage = VerdictStage::kSuspected;
  HangClass hang_class = HangClass::kUnknown;
  std::optional<HangClass>
      signature;  // what the walk alone said, where host facts changed the class
  Culprit culprit;
  std::vector<Rank> suspects;   // the smallest honest set where the culprit is not one rank ("one
                                // of"); places in `members`
  std::vector<Member> members;  // those named above (culprit, suspects, ends of the edge), by rank:
                                // who they are and where they live
  std::optional<Operation> op;
  Duration stalled{0};    // the stall clock now
  double confidence = 0;  // 0..1
  std::vector<EvidenceLine> evidence;
  bool ended =
      false;  // with kHealed: the communicator or job ended or was cancelled, nothing "moves again"
};

}  // namespace sentinel
