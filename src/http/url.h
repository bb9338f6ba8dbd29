// An http:// or https:// address with a path, as a configuration names a receiver.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace sentinel {

struct HttpUrl {
  Endpoint endpoint;  // its tls: https://
  std::string path = "/";
  std::string query;  // without the '?'

  bool operator==(const HttpUrl&) const = default;
  std::string ToString() const;
};

// http[s]://host[:port][/path][?query]. kInvalidArgument with what is expected for anything else:
// no user name or password (they belong into a file), no fragment, no character that would end a
// request's first line.
Result<HttpUrl> ParseHttpUrl(std::string_view text);

}  // namespace sentinel
