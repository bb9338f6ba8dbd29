// A terminal's HTTP interface (docs/formats/terminal.md).
#pragma once

#include "http/server.h"
#include "terminal/terminal.h"

namespace sentinel {

// `terminal` outlives the server that is given this router.
HttpRouter TerminalRoutes(Terminal& terminal);

}  // namespace sentinel
