// Fields of a gateway's JSON: what is missing or of another type is "" or empty.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace sentinel {

const nlohmann::json& Field(const nlohmann::json& object, const char* name);
std::string Text(const nlohmann::json& object, const char* name);
const nlohmann::json& List(const nlohmann::json& object, const char* name);

// 2026-08-17T08:30:00.250Z as 08-17 08:30:00: the year is known, and all of it is UTC.
std::string ShortTime(const std::string& time);

}  // namespace sentinel
