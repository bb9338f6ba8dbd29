// What the page is told while it is open: frames, sentences and the status, as server-sent events.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "floor/frame.h"
#include "http/server.h"

namespace sentinel {

constexpr size_t kPagesMax = 16;  // beyond: refused with 503
constexpr Duration kFeedHeartbeat = std::chrono::seconds(10);

class PageFeed {
 public:
  // False if there is no place; then nothing has been sent. A new page gets the last frame at once.
  bool Add(HttpResponder& responder, const std::string& status_json, Instant now);

  // Sent if it differs from the last one sent. Call it at most at the frame rate.
  void SendFrame(const Frame& frame, Instant now);
  // `json` must be one line.
  void SendEvent(std::string_view event, std::string_view json, Instant now);

  size_t pages() const { return pages_.size(); }
  void Close();

 private:
  void Send(const std::string& chunk, Instant now);

  std::vector<std::shared_ptr<HttpStream>> pages_;
  Frame frame_{};
  bool any_frame_ = false;
  Instant last_sent_;
};

std::string Base64(std::string_view bytes);

}  // namespace sentinel
