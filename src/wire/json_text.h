// JSON as it is written here.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sentinel {

// Members stay in the order in which they were put.
using OrderedJson = nlohmann::ordered_json;

// On one line; bytes that are no UTF-8 become U+FFFD.
std::string Dump(const OrderedJson& json);

// null for what is not said.
OrderedJson TextOrNull(std::string_view text);

}  // namespace sentinel
