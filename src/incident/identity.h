// What makes two reports the same incident, and the names that follow from it.
//
// Everything here is a function of its arguments, so that two gateways fed by the same agents name
// an incident and its messages alike, and a terminal hears them once.
#pragma once

#include <string>
#include <string_view>

#include "model/event.h"
#include "model/incident.h"

namespace sentinel {

// Canonical JSON (keys sorted, no spaces): no sender can make two identities collide by what it
// writes into a field.
std::string EventIdentity(const Event& event, std::string_view rack, std::string_view host);
std::string HangIdentity(const CommKey& comm, uint64_t epoch);

// 16 hex digits.
std::string IncidentId(std::string_view identity, uint64_t occurrence);
std::string MessageId(std::string_view identity, uint64_t occurrence, NotifyReason reason,
                      uint64_t sequence, std::string_view terminal);

}  // namespace sentinel
