// Stalls of several communicators of one job that hang on one another: the culprit of one may
// itself wait in another, and then the other has to be followed.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace sentinel {

// follows[i]: the stall in which the culprit of stall i waits, if any. True for stalls that are
// blamed in their own right: those that follow none, and those on a circle, where no stall is more
// to blame than another.
std::vector<bool> Sinks(const std::vector<std::optional<size_t>>& follows);

}  // namespace sentinel
