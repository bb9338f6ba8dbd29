// Where no proxy stands between ranks (NVLink, PCIe): only "never entered", "kernel never started"
// and "started and not completed" can be seen.
#pragma once

#include <optional>
#include <vector>

#include "correlate/finding.h"

namespace sentinel {

// The members on the host of `rank`, itself among them. One alone where the host is not known.
std::vector<Rank> OnSameHost(const Scene& scene, Rank rank);

// What can be said exactly of the members of one node in scene.op: a rank that has not entered, or
// whose kernel has not started. Nothing if all have.
std::optional<Finding> ExactWithinNode(const Scene& scene, const std::vector<Rank>& node,
                                       Rank waiter);

// Who holds scene.op up, by kernels alone. A stuck GPU and a stuck link cannot be told apart here:
// then the ranks that have not completed are "one of".
Finding JudgeByKernels(const Scene& scene);

}  // namespace sentinel
