// The queries of the API, as they stand behind the '?'. Pure.
//
// There are two, of one word each, so nothing is decoded and nothing may stand beside it.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace sentinel {

constexpr size_t kAuditShown = 100;  // where nothing else is asked
constexpr size_t kAuditShownMax = 1000;

// Of GET /api/v1/incidents, whether closed ones are to be shown: "state=open", "state=all" or
// nothing, which is all. kInvalidArgument with what is expected.
Result<bool> ShowsClosed(std::string_view query);

// Of GET /api/v1/audit, how many lines: "max=N" or nothing. kInvalidArgument likewise.
Result<size_t> AuditLines(std::string_view query);

}  // namespace sentinel
