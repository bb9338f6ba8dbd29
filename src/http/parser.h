// Requests and responses cut out of bytes as they arrive. The one place that knows Boost.Beast.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"

namespace sentinel {

enum class ParseState {
  kMore,           // bring more bytes
  kDone,           // a whole message: Take() it
  kBad,            // not HTTP/1.x as we speak it
  kHeaderTooLong,  // start line and fields beyond their bound
  kBodyTooLong,
};

struct ParserLimits {
  size_t header_bytes_max;
  size_t body_bytes_max;
  // Of requests, by path, where it is another.
  std::map<std::string, size_t, std::less<>> body_bytes_max_of{};
};

class RequestParser {
 public:
  explicit RequestParser(ParserLimits limits);
  ~RequestParser();

  // Reads on. `consumed` bytes are done with; the rest is to be brought again, with more behind it
  // (kMore), or belongs to the next request (kDone).
  ParseState Feed(std::string_view bytes, size_t* consumed);

  // Of the body, so far.
  size_t body_bytes() const;

  // True between the end of the header and the end of the body of a client that waits for
  // "100 Continue".
  bool ContinueIsDue() const;

  // After kDone. Whether the client keeps the connection, and whether it speaks HTTP/1.1 (chunks).
  bool keep_alive() const;
  bool http11() const;
  // After kDone: the request, its peer unset. The parser is then new.
  HttpRequest Take();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

class ResponseParser {
 public:
  // `head`: the answer to a HEAD request, which has no body whatever it says.
  ResponseParser(ParserLimits limits, bool head);
  ~ResponseParser();

  // As RequestParser::Feed. Interim answers (1xx) are skipped.
  ParseState Feed(std::string_view bytes, size_t* consumed);
  // The connection has ended: kDone if that ends the body, else kBad.
  ParseState FeedEnd();
  // Of the answer whose header is whole, whatever becomes of its body; 0 before that.
  int status() const;
  HttpResponse Take();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sentinel
