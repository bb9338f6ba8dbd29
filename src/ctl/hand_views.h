// What a gateway answers to a command, as a person reads it. Pure.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "ctl/views.h"

namespace sentinel {

// Of the answers to POST /api/v1/ack, /mute, /unmute and /test (docs/formats/operators.md).
std::string AckView(const nlohmann::json& answer, const ViewStyle& style);
std::string MuteView(const nlohmann::json& answer, const ViewStyle& style);
std::string UnmuteView(const nlohmann::json& answer, const ViewStyle& style);
std::string TestView(const nlohmann::json& answer, const ViewStyle& style);

}  // namespace sentinel
