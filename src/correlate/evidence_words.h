// A judgement in words, Chinese and English, for a person who stands in the hall.
#pragma once

#include <vector>

#include "correlate/judgement.h"

namespace sentinel {

constexpr size_t kEvidenceLinesMax = 8;

// What was seen, most telling first. The words hold no figure that changes while nothing moves, so
// that equal states give equal evidence.
std::vector<EvidenceLine> Explain(const Scene& scene, const Judgement& judgement);

// 0..1: how far the class, the agreement of channels and the share of members that answer go.
double Confidence(const Scene& scene, const Judgement& judgement, bool confirmed);

}  // namespace sentinel
