// What a handler holds of the connection that asked.
#pragma once

#include <memory>

#include "http/connection.h"
#include "http/server.h"

namespace sentinel {

// Answers the request that the connection has handed out last, with status 500 if it is let go
// unused. It keeps the connection until then; a stream that it begins does not.
std::unique_ptr<HttpResponder> ResponderOf(std::shared_ptr<Connection> connection);

}  // namespace sentinel
