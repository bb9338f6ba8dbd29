#include "terminal/page_feed.h"

#include <algorithm>
#include <cstdint>

namespace sentinel {
namespace {

std::string Event(std::string_view name, std::string_view data) {
  std::string event = "event: ";
  event += name;
  event += "\ndata: ";
  event += data;
  event += "\n\n";
  return event;
}

std::string FrameEvent(const Frame& frame) {
  return Event("frame", Base64({reinterpret_cast<const char*>(frame.data()), frame.size()}));
}

}  // namespace

std::string Base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    size_t given = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; j++) {
      three = three << 8 | (j < given ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (size_t j = 0; j < 4; j++) {
      out += j <= given ? kDigits[(three >> (18 - 6 * j)) & 63] : '=';
    }
  }
  return out;
}

bool PageFeed::Add(HttpResponder& responder, const std::string& status_json, Instant now) {
  std::erase_if(pages_, [](const auto& page) { return !page->open(); });
  if (pages_.size() >= kPagesMax) return false;
  HttpResponse head;
  head.content_type = "text/event-stream";
  head.headers["Cache-Control"] = "no-store";
  head.body = "retry: 1000\n\n" + Event("status", status_json);
  if (any_frame_) head.body += FrameEvent(frame_);
  pages_.push_back(responder.Stream(std::move(head)));
  last_sent_ = now;
  return true;
}

void PageFeed::SendFrame(const Frame& frame, Instant now) {
  bool changed = !any_frame_ || frame != frame_;
  if (changed) {
    frame_ = frame;
    any_frame_ = true;
    if (!pages_.empty()) Send(FrameEvent(frame), now);
  } else if (now - last_sent_ >= kFeedHeartbeat) {
    Send(": still here\n\n", now);
  }
}

void PageFeed::SendEvent(std::string_view event, std::string_view json, Instant now) {
  if (!pages_.empty()) Send(Event(event, json), now);
}

void PageFeed::Send(const std::string& chunk, Instant now) {
  last_sent_ = now;
  std::erase_if(pages_, [&](const auto& page) { return !page->Write(chunk); });
}

void PageFeed::Close() {
  for (const auto& page : pages_) page->Close();
  pages_.clear();
}

}  // namespace sentinel
