// Incidents as JSON: what people read (docs/formats/incidents.md) and what is kept over a restart
// (docs/formats/incident-document.md). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/incident.h"

namespace sentinel {

std::string IncidentJson(const Incident& incident);
std::string IncidentListJson(const std::vector<const Incident*>& incidents, Moment now);

// `boot`: that its monotonic instants are of; empty: not known.
std::string WriteIncidentDocument(const Incident& incident, std::string_view boot = {});
// kCorrupt for what is not such a document.
Result<Incident> ParseIncidentDocument(std::string_view document);

}  // namespace sentinel
