// Inside one operation: the walk along the edges of a ring from the rank that has received least to
// the place where nothing more comes from.
//
// Steps are compared by what was received: a socket's sender is done with a step as soon as its
// kernel has taken the bytes. Rules: docs/detection.md, "The walk".
#pragma once

#include <optional>

#include "correlate/finding.h"

namespace sentinel {

// The oldest operation that some member has enqueued and not finished.
std::optional<Operation> OldestOpen(const Scene& scene);

// Who holds scene.op up. scene.op must be set and be a collective.
Finding JudgeCollective(const Scene& scene);

}  // namespace sentinel
