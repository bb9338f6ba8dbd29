// An incident as other systems are told of it: a webhook's message, an Alertmanager's alert
// (docs/formats/outputs.md). Pure.
#pragma once

#include <map>
#include <string>

#include "base/time.h"
#include "model/incident.h"

namespace sentinel {

// What tells two states of an incident apart to somebody who is told of it: the same text for the
// same news, after a restart too. A mere count is no news.
std::string IncidentNews(const Incident& incident);

// {"type":"incident.opened|updated|acknowledged|closed","timestamp":…,"data":{the incident}}
enum class Telling { kFirst, kAgain };
std::string WebhookMessage(const Incident& incident, Telling telling, WallTime now);

// The labels of its alert, a JSON object. Two incidents never have the same. `site` is added to
// each, and does not replace one of ours.
std::string AlertLabels(const Incident& incident, const std::map<std::string, std::string>& site);
// One element of POST /api/v2/alerts. An alert never ends before it starts, whatever the clocks
// did.
std::string Alert(const Incident& incident, const std::string& labels, WallTime ends);

}  // namespace sentinel
