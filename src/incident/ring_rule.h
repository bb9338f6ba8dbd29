// Whose standstill may ring: what a site says of jobs that are too small, or not its own to wake
// people for. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/job.h"

namespace sentinel {

struct RingRule {
  int gpus_min = 8;
  // Globs; a job must fit one of each list that is not empty.
  std::vector<std::string> partitions;
  std::vector<std::string> namespaces;
  std::vector<std::string> users;
};

// What of the job bars it from ringing, for people: "gpus 4 of 8". Nothing if it may ring: what is
// not known of a job bars nobody.
std::optional<std::string> BarredBy(const RingRule& rule, const JobFacts& job);

}  // namespace sentinel
