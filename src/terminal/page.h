// The virtual terminal's page, built into the program so that it needs no file and no network.
#pragma once

#include <optional>
#include <string_view>

#include "http/message.h"

namespace sentinel {

// The page's file at `path` ("/", "/terminal.js" …), or nothing.
std::optional<HttpResponse> PageFile(std::string_view path);

}  // namespace sentinel
