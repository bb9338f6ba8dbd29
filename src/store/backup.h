// A copy of a store that a gateway may be writing to at the same moment.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sentinel {

struct BackupReport {
  uint64_t bytes = 0;
  uint64_t events = 0;
  uint64_t incidents = 0;
};

// One file, mode 0600, that a gateway can be started on: complete when it has the name `to`, and
// opened, checked and counted before that. Writers are not held up. kInvalidArgument: `to` exists
// already, or `from` is no store of ours; kNotFound, kDenied, kCorrupt, kIo otherwise.
Result<BackupReport> BackUpStore(const std::string& from, const std::string& to);

}  // namespace sentinel
