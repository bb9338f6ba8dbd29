// How loud: the levels of the contract, in the order in which one outranks another.
#pragma once

#include <optional>
#include <string_view>

namespace sentinel {

enum class Severity {
  kNormal,  // the job moves again: green
  kNotice,  // dashboard and metrics only
  kP1,      // orange
  kP0,      // red
};

// "NORMAL", "NOTICE", "P1", "P0": the spelling in JSON, metrics, logs and configuration.
std::string_view SeverityName(Severity severity);
std::optional<Severity> SeverityFromName(std::string_view name);

}  // namespace sentinel
