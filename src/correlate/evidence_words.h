// A judgement in words, Chinese and English, for a person who stands in the hall.
#pragma once

#include <vector>

#include "correlate/judgement.h"

namespace sentinel {

constexpr size_t kEvidenceLinesMax = 8;

// What was seen, most telling first. The words hold no figure that changes while nothing moves, so
// that equal states give equal evidence.
std::vector<EvidenceLine> Explain(const Scene& scene, const Judgement& judgement);

}  // namespace sentinel
