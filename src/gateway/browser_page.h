// Requests that come from a page in somebody's browser: they arrive from the browser's host, which
// proves nothing of who wrote the page.
#pragma once

#include <string_view>

#include "http/message.h"

namespace sentinel {

// `peer` as a connection of ours has it: this host.
bool IsLoopback(std::string_view peer);

// A page of another site that is open in a browser on this host can send requests here (its Origin
// is another), and under a name of its own that leads here it can read the answers (from this host,
// and the Host is no address).
bool FromAnotherSite(const HttpRequest& request);

}  // namespace sentinel
