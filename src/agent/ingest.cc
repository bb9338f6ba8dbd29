#include "agent/ingest.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"
#include "wire/event_json.h"

namespace sentinel {
namespace {

// Rises over restarts, as long as the clock does not go back further than the last run was long;
// the gateway tells repeated events apart by their own event_id besides.
uint64_t FirstId() { return static_cast<uint64_t>(WallNow().since_epoch.count()) * 1000; }

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      constexpr char kHex[] = "0123456789abcdef";
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

HttpResponse Later(const std::string& why) {
  HttpResponse response = TextResponse(503, why);
  response.headers["Retry-After"] = "5";
  return response;
}

}  // namespace

struct Ingest::Pending {
  explicit Pending(boost::asio::io_context& io) : deadline(io) {}
  std::unique_ptr<HttpResponder> responder;
  std::string event_id;
  boost::asio::steady_timer deadline;

  void Answer(HttpResponse response) {
    deadline.cancel();
    if (responder) responder->Send(std::move(response));
    responder.reset();
  }
};

std::unique_ptr<Ingest> Ingest::Create(boost::asio::io_context& io, std::string spool_dir,
                                       std::string agent_id) {
  auto ingest = std::make_unique<Ingest>(io, std::move(spool_dir), std::move(agent_id), FirstId());
  if (!ingest->spool_.path().empty()) ingest->Load();
  return ingest;
}

Ingest::Ingest(boost::asio::io_context& io, std::string spool_dir, std::string agent_id,
               uint64_t first_id)
    : io_(io), spool_(std::move(spool_dir)), agent_id_(std::move(agent_id)), queue_({}, first_id) {}

Ingest::~Ingest() { *alive_ = false; }

void Ingest::Load() {
  Result<std::vector<SpoolDir::Entry>> left = spool_.Open(EventQueueOptions{}.events_max);
  if (!left.ok()) {
    DiskFailed(left.error().message);
    return;
  }
  for (SpoolDir::Entry& entry : *left) queue_.Add(entry.id, std::move(entry.body));
  if (queue_.size() > 0) spdlog::info("spool=loaded events={}", queue_.size());
}

void Ingest::Post(HttpRequest request, std::unique_ptr<HttpResponder> responder) {
  Result<Event> event = ParseEvent(request.body);
  if (!event.ok()) {
    ++refused_;
    responder->Send(TextResponse(400, "Bad Request: " + event.error().message));
    return;
  }
  const Result<uint64_t> id = queue_.Reserve(2 * request.body.size());
  if (!id.ok()) {
    ++refused_;
    if (!std::exchange(full_, true)) spdlog::warn("spool=full why=\"{}\"", id.error().message);
    responder->Send(Later(id.error().message));
    return;
  }
  full_ = false;
  // It may be sent twice, and it may arrive late: what tells both is its own.
  if (event->event_id.empty()) event->event_id = agent_id_ + "-" + std::to_string(*id);
  if (event->observed_at.empty()) event->observed_at = FormatRfc3339(WallNow());
  std::string body = WriteEvent(*event);
  const auto pending = std::make_shared<Pending>(io_);
  pending->responder = std::move(responder);
  pending->event_id = event->event_id;
  queue_.Add(*id, body);
  if (on_event_) on_event_();

  const bool posted =
      disk_.Post([this, alive = alive_, &io = io_, id = *id, body = std::move(body), pending] {
        Status written = spool_.Write(id, body);
        boost::asio::post(io, [this, alive, pending, written = std::move(written)] {
          if (*alive) Settle(pending, written);
        });
      });
  if (!posted) return Settle(pending, Error{ErrorCode::kExhausted, "the disk is behind"});
  pending->deadline.expires_after(kDiskWithin);
  pending->deadline.async_wait(
      [this, alive = alive_, pending](const boost::system::error_code& cancelled) {
        if (!cancelled && *alive) Settle(pending, Error{ErrorCode::kTimeout, "the disk is slow"});
      });
}

void Ingest::Settle(const std::shared_ptr<Pending>& pending, const Status& written) {
  if (!written.ok()) {
    if (pending->responder) DiskFailed(written.error().message);
    pending->Answer(Later("not durable: " + written.error().message));
    return;
  }
  if (std::exchange(disk_failing_, false)) spdlog::info("spool=recovered");
  pending->Answer(JsonResponse(200, R"({"status":"accepted","incident":null,"event_id":)" +
                                        Quoted(pending->event_id) + "}"));
}

void Ingest::DiskFailed(const std::string& why) {
  if (std::exchange(disk_failing_, true)) return;
  spdlog::warn(
      "spool=failing why=\"{}\" effect=\"events live in memory, senders are told 503\" "
      "do=\"see that {} is writable for this user and its disk is well, or name another "
      "spool_dir\"",
      why, spool_.path());
}

void Ingest::Answered(const EventAck& ack) {
  if (!queue_.Answered(ack, MonotonicNow())) return;
  const uint64_t id = ack.spool_id;
  // In the order of the writes: never before its own.
  if (!disk_.Post([this, id] { spool_.Remove(id); })) {
    spdlog::warn("spool=behind effect=\"event {} may be sent again after a restart\"", id);
  }
}

}  // namespace sentinel
