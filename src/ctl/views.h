// The gateway's JSON as a person reads it. Pure; what a field is missing for is left blank.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace sentinel {

enum class Wording : bool { kChinese, kEnglish };

struct ViewStyle {
  bool colour = false;
  Wording wording = Wording::kChinese;  // of evidence; the sentence is the site's
};

// Of the answers to GET /api/v1/incidents, /terminals and /agents (docs/formats/incidents.md).
std::string IncidentsView(const nlohmann::json& answer, const ViewStyle& style);
std::string TerminalsView(const nlohmann::json& answer, const ViewStyle& style);
std::string AgentsView(const nlohmann::json& answer, const ViewStyle& style);

// One incident in full: its sentence, why, and who was told.
std::string IncidentView(const nlohmann::json& incident, const ViewStyle& style);

// A line for what has changed since `before`, newest last; nothing if nothing has. Both are answers
// to GET /api/v1/incidents, `before` may be null.
std::string ChangesView(const nlohmann::json& before, const nlohmann::json& after,
                        const ViewStyle& style);

}  // namespace sentinel
