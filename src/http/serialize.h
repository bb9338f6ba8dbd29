// Messages as bytes: one buffer, so that one send carries a whole answer.
#pragma once

#include <string>
#include <string_view>

#include "http/message.h"

namespace sentinel {

enum class BodyFraming {
  kLength,    // Content-Length and the body
  kNoBody,    // the head of kLength alone: the answer to HEAD
  kChunked,   // a head that chunks follow
  kUntilEnd,  // a head that bytes follow until the connection ends (HTTP/1.0)
};
enum class ConnectionFate { kKeep, kKeepHttp10, kClose };

// Appends the response. `date` is an IMF-fixdate.
void AppendResponse(const HttpResponse& response, BodyFraming framing, ConnectionFate fate,
                    std::string_view date, std::string* out);

// Appends one chunk of a chunked body; an empty chunk ends it.
void AppendChunk(std::string_view chunk, std::string* out);

// The bytes of a request whose connection is not kept.
std::string SerializeRequest(const HttpRequest& request, std::string_view host);

}  // namespace sentinel
