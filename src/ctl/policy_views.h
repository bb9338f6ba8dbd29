// Silences, the audit trail, and what an event would do, as a person reads them. Pure.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "ctl/views.h"

namespace sentinel {

// Of the answers to /api/v1/silences, /silences/expire, /nodes, /audit and /route_test
// (docs/formats/silences.md, docs/formats/operators.md).
std::string SilencesView(const nlohmann::json& answer, const ViewStyle& style);
std::string SilenceView(const nlohmann::json& silence, const ViewStyle& style);  // of one just made
std::string ExpiredView(const nlohmann::json& answer, const ViewStyle& style);
std::string NodeView(const nlohmann::json& answer, const ViewStyle& style);
std::string AuditView(const nlohmann::json& answer, const ViewStyle& style);
std::string RouteTestView(const nlohmann::json& answer, const ViewStyle& style);

}  // namespace sentinel
