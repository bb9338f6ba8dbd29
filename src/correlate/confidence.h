// How sure a judgement is.
#pragma once

#include "correlate/judgement.h"

namespace sentinel {

// 0..1: how far the class, the agreement of channels and the share of members that answer go.
double Confidence(const Scene& scene, const Judgement& judgement, bool confirmed);

}  // namespace sentinel
