// The product's own judgement of a replay, in one process and without a network: what every node's
// agent would see of its boards, and what the gateway would make of it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/node_watch.h"
#include "base/time.h"
#include "correlate/correlator.h"
#include "model/verdict.h"

namespace sentinel {

struct Judged {
  Instant when;
  Verdict verdict;
};

class Judge {
 public:
  struct Node {
    std::string host;
    std::string board_dir;
  };

  // Replayed jobs are short: what a rank may be late by is learned from so many operations.
  static constexpr uint64_t kLateHistoryMin = 5;
  static constexpr Duration kScanPeriod = std::chrono::milliseconds(20);

  explicit Judge(const std::vector<Node>& nodes);
  ~Judge();  // stops

  // Judges on a thread of its own from here on.
  void Start();

  // Some stall is suspected and not yet decided. From any thread.
  bool Undecided() const { return undecided_; }

  // Ends the thread. What was judged, in order; once.
  std::vector<Judged> Stop();

 private:
  // One node as the gateway knows it.
  struct Agent {
    AgentId id;
    std::unique_ptr<NodeWatch> watch;
  };

  void Body();
  void Round(Instant now);
  void Hear(const AgentId& agent, const std::vector<UpMessage>& messages, Instant now);
  std::vector<Correlator::Request> Decide(Instant now);

  std::vector<Agent> agents_;
  Correlator correlator_;
  std::vector<Judged> judged_;
  std::atomic<bool> undecided_ = false;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace sentinel
