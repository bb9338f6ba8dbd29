// Requests: the same bytes in pieces of any size are the same requests, and no piece is read twice.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "http/parser.h"

namespace {

struct Seen {
  std::vector<std::string> requests;
  bool refused = false;
};

Seen Read(std::string_view bytes, size_t step) {
  sentinel::RequestParser parser({2048, 1024});
  Seen seen;
  std::string buffer;
  for (size_t at = 0; at < bytes.size(); at += step) {
    buffer += bytes.substr(at, step);
    while (!buffer.empty()) {
      size_t consumed = 0;
      sentinel::ParseState state = parser.Feed(buffer, &consumed);
      CHECK(consumed <= buffer.size());
      buffer.erase(0, consumed);
      if (state == sentinel::ParseState::kMore) break;
      if (state != sentinel::ParseState::kDone) {
        seen.refused = true;
        return seen;
      }
      sentinel::HttpRequest request = parser.Take();
      CHECK(request.body.size() <= 1024);
      seen.requests.push_back(request.method + " " + request.path + "?" + request.query + "\n" +
                              request.body);
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  size_t step = 1 + data[0] % 64;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Seen whole = Read(bytes, bytes.size() + 1);
  Seen pieces = Read(bytes, step);
  CHECK(whole.requests == pieces.requests);
  return 0;
}
