#include "correlate/confidence.h"

#include <algorithm>

namespace sentinel {
namespace {

double BaseConfidence(const Judgement& j) {
  switch (j.hang_class) {
    case HangClass::kProcessDead:
    case HangClass::kProcessStopped:
      return 0.98;
    case HangClass::kNotEntered:
    case HangClass::kMismatch:
      return 0.95;
    case HangClass::kGpuNotStarted:
    case HangClass::kProxyStuck:
      return 0.9;
    case HangClass::kGpuStuck:
    case HangClass::kNetwork:
      return j.finding.rank ? 0.9 : 0.8;
    case HangClass::kPcie:
      return 0.8;
    case HangClass::kWaiting:
    case HangClass::kSlow:
      return 0.6;
    case HangClass::kUnknown:
      return 0.3;
  }
  return 0;
}

}  // namespace

double Confidence(const Scene& scene, const Judgement& judgement, bool confirmed) {
  double confidence = BaseConfidence(judgement);
  if (judgement.finding.channels > 1) {
    const double agreeing =
        static_cast<double>(judgement.finding.channels_agreeing) / judgement.finding.channels;
    confidence *= 0.7 + 0.3 * agreeing;
  }
  if (!scene.seats().empty()) {
    const double answered =
        static_cast<double>(judgement.reported) / static_cast<double>(scene.seats().size());
    confidence *= 0.6 + 0.4 * answered;
  }
  if (judgement.facts.hard && judgement.finding.rank) confidence = std::max(confidence, 0.97);
  return confirmed ? confidence : confidence * 0.6;
}

}  // namespace sentinel
