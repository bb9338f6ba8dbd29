#include "model/severity.h"

namespace sentinel {

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNormal:
      return "NORMAL";
    case Severity::kNotice:
      return "NOTICE";
    case Severity::kP1:
      return "P1";
    case Severity::kP0:
      return "P0";
  }
  return "";
}

std::optional<Severity> SeverityFromName(std::string_view name) {
  for (Severity s : {Severity::kNormal, Severity::kNotice, Severity::kP1, Severity::kP0}) {
    if (name == SeverityName(s)) return s;
  }
  return std::nullopt;
}

}  // namespace sentinel
