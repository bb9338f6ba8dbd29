// From digests to verdicts: who is to blame when a communicator stands still.
//
// Pure: the caller brings every message and the time, asks agents for what is requested, and passes
// verdicts on. It decides by the reader's clocks as ages and by comparing counters, never by wall
// clocks. Rules: docs/detection.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/agent_message.h"
#include "model/communicator.h"
#include "model/job.h"
#include "model/progress.h"
#include "model/verdict.h"

namespace sentinel {

struct CorrelateOptions {
  Duration confirm_apart =
      std::chrono::milliseconds(50);  // two equal digests at least so far apart confirm
  Duration red_after =
      std::chrono::milliseconds(1500);  // stalled inside an operation, or a stopped process
  Duration dead_red_after = std::chrono::milliseconds(1000);  // survivors suspected for so long
  Duration hard_evidence_extra = std::chrono::milliseconds(300);
  Duration arrival_lag_max = std::chrono::milliseconds(
      600);                         // p99.9; a job that is never later may be judged at red_after
  uint64_t late_history_min = 200;  // operations
  Duration late_limit = std::chrono::seconds(30);
  Duration agent_silent_after = std::chrono::seconds(1);
  Duration node_silent_after = std::chrono::seconds(10);
  Duration poll_every =
      std::chrono::milliseconds(100);  // how often members of a stuck communicator are asked again
};

using AgentId = std::string;

class Correlator {
 public:
  explicit Correlator(CorrelateOptions options);
  ~Correlator();

  // From here on other limits count, also for what is being watched.
  void Reconfigure(CorrelateOptions options);

  // The whole inventory of one agent; replaces its earlier one.
  void OnInventory(const AgentId& agent, const Inventory& inventory, Instant now);
  void OnDigest(const AgentId& agent, const Digest& digest, Instant now);
  void OnCallOrder(const AgentId& agent, const CallOrder& order, Instant now);
  void OnEvidence(const AgentId& agent, const HostEvidence& evidence, Instant now);
  // Anything was heard from it. An agent not heard of for agent_silent_after is silent: its members
  // are unknown, not innocent.
  void OnHeard(const AgentId& agent, Instant now);
  void OnDisconnected(const AgentId& agent, Instant now);

  struct Request {
    AgentId agent;
    DetailRequest request;
  };
  struct Actions {
    std::vector<Request> requests;
    std::vector<Verdict>
        verdicts;  // those that changed: new, another stage, culprit, class or evidence
  };
  // What to do at `now`. Call it after every message and at NextWake().
  Actions Advance(Instant now);
  std::optional<Instant> NextWake() const;

  // How large the job of that communicator is and where it runs, as far as agents have told; whose
  // it is, is not known here.
  JobFacts ExtentOf(const CommKey& comm) const;

  // Open stalls as they stand (not healed), for status pages.
  std::vector<Verdict> Open(Instant now) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sentinel
