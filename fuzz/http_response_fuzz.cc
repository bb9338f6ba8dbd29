// Answers, as a gateway reads them from whoever sits at a terminal's address: the same bytes in
// pieces of any size are the same answer.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "http/http_date.h"
#include "http/parser.h"

namespace {

std::string Read(std::string_view bytes, size_t step) {
  sentinel::ResponseParser parser({2048, 1024}, false);
  std::string buffer;
  sentinel::ParseState state = sentinel::ParseState::kMore;
  for (size_t at = 0; at < bytes.size() && state == sentinel::ParseState::kMore; at += step) {
    buffer += bytes.substr(at, step);
    size_t consumed = 0;
    state = parser.Feed(buffer, &consumed);
    CHECK(consumed <= buffer.size());
    buffer.erase(0, consumed);
  }
  if (state == sentinel::ParseState::kMore) state = parser.FeedEnd();
  if (state != sentinel::ParseState::kDone) return "refused";
  sentinel::HttpResponse response = parser.Take();
  CHECK(response.body.size() <= 1024);
  auto date = response.headers.find("Date");
  if (date != response.headers.end()) static_cast<void>(sentinel::ParseHttpDate(date->second));
  return std::to_string(response.status) + "\n" + response.body;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  size_t step = 1 + data[0] % 64;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  CHECK(Read(bytes, bytes.size() + 1) == Read(bytes, step));
  return 0;
}
