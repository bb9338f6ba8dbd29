// What hosts know of their hardware: Xids, lost GPUs, links, error rates. One table says what each
// kind of fact does to a verdict: make it certain at once, sharpen it, or veto it.
//
// The kinds are the strings of HostEvidence.kind; docs/detection.md lists them.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "correlate/finding.h"
#include "model/agent_message.h"

namespace sentinel {

constexpr size_t kFactsPerHostMax = 32;  // the oldest goes
constexpr size_t kFactHostsMax = 65536;  // beyond it facts of further hosts are dropped
constexpr Duration kFactLifetime = std::chrono::seconds(120);

class HostFacts {
 public:
  void Take(const HostEvidence& evidence, Instant now);

  struct Applied {
    bool hard = false;         // red at suspicion + hard_evidence_extra
    bool veto = false;         // no lamp
    std::optional<Rank> rank;  // of several suspects the one that facts point to
    std::string nic;
    std::vector<EvidenceLine> lines;
  };
  // What is known about the ranks and edges a finding names. `place` says where a rank lives.
  Applied Apply(const Finding& finding, const std::function<const Place*(Rank)>& place,
                Instant now) const;

 private:
  struct Fact {
    HostEvidence evidence;
    Instant since;
  };
  std::map<std::string, std::deque<Fact>> by_host_;
};

}  // namespace sentinel
