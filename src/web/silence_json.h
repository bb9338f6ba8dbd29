// Silences and the audit trail as JSON: what people read and post (docs/formats/silences.md). Pure.
//
// A silence is kept over a restart in the form it is shown in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "incident/silence_book.h"
#include "model/audit.h"
#include "model/silence.h"

namespace sentinel {

std::string SilenceJson(const Silence& silence, SilencePhase phase);
std::string SilencesJson(const SilenceBook& book);
// What somebody posts, or what was kept. An absent `starts_at` is `now`; `for_ms` may stand in the
// place of `expires_at`. kInvalidArgument, in words. Who the author is, is for the caller to say
// where the body does not.
Result<Silence> ParseSilence(std::string_view json, WallTime now);

// What somebody posts holds no field beside those: one that is misspelt in a matcher would be
// missing, and the silence cover more than was meant. What was kept is not held to it.
Status CheckSilenceFields(std::string_view json);

std::string AuditJson(const std::vector<AuditRecord>& lines);

}  // namespace sentinel
