// What the connections of one server share. It outlives the server while a responder is held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "http/server.h"

namespace sentinel {

class Connection;

struct ServerContext {
  HttpLimits limits;
  HttpHandler handler;
  std::shared_ptr<TlsContext> tls;  // null: plain
  std::map<Connection*, std::shared_ptr<Connection>> connections;
  bool stopping = false;  // answers say "Connection: close"

  // Now, as a Date header wants it; formatted once a second.
  std::string_view Date();

 private:
  int64_t date_second_ = -1;
  std::string date_;
};

}  // namespace sentinel
