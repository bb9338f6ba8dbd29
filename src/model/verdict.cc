#include "model/verdict.h"

namespace sentinel {

std::string_view HangClassName(HangClass hang_class) {
  switch (hang_class) {
    case HangClass::kNotEntered:
      return "NOT_ENTERED";
    case HangClass::kGpuNotStarted:
      return "GPU_NOT_STARTED";
    case HangClass::kGpuStuck:
      return "GPU_STUCK";
    case HangClass::kProxyStuck:
      return "PROXY_STUCK";
    case HangClass::kNetwork:
      return "NETWORK";
    case HangClass::kPcie:
      return "PCIE";
    case HangClass::kMismatch:
      return "MISMATCH";
    case HangClass::kProcessDead:
      return "PROCESS_DEAD";
    case HangClass::kProcessStopped:
      return "PROCESS_STOPPED";
    case HangClass::kWaiting:
      return "WAITING";
    case HangClass::kSlow:
      return "SLOW";
    case HangClass::kUnknown:
      return "UNKNOWN";
  }
  return "";
}

std::optional<HangClass> HangClassFromName(std::string_view name) {
  for (size_t i = 0; i < kHangClasses; ++i) {
    const auto hang_class = static_cast<HangClass>(i);
    if (name == HangClassName(hang_class)) return hang_class;
  }
  return std::nullopt;
}

std::string_view VerdictStageName(VerdictStage stage) {
  switch (stage) {
    case VerdictStage::kSuspected:
      return "suspected";
    case VerdictStage::kConfirmed:
      return "confirmed";
    case VerdictStage::kRed:
      return "red";
    case VerdictStage::kHealed:
      return "healed";
  }
  return "";
}

}  // namespace sentinel
