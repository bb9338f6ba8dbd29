// Why a lamp waits or stays dark, in words for a person.
#pragma once

#include <optional>

#include "correlate/judgement.h"

namespace sentinel {

// Nothing for kNone.
std::optional<EvidenceLine> WordsOf(Hold hold);

}  // namespace sentinel
