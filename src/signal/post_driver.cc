#include "signal/post_driver.h"

#include <utility>

#include "base/clock.h"
#include "http/client.h"
#include "signal/webhook_signature.h"

namespace sentinel {
namespace {}  // namespace

bool PostSettings::operator==(const PostSettings& other) const {
  return url == other.url && secrets == other.secrets && attempt_timeout == other.attempt_timeout &&
         connect_timeout == other.connect_timeout;
}

PostDriver::PostDriver(boost::asio::io_context& io, PostSettings settings, Compose compose)
    : io_(io), settings_(std::move(settings)), compose_(std::move(compose)) {}

PostDriver::~PostDriver() { *alive_ = false; }

void PostDriver::Send(const Notification& notification, std::function<void(SendResult)> done) {
  Post(notification.id, compose_(notification), std::move(done));
}

void PostDriver::Post(const std::string& id, std::string body,
                      std::function<void(SendResult)> done) {
  HttpRequest request;
  request.method = "POST";
  request.path = settings_.url.path;
  request.query = settings_.url.query;
  request.headers["Content-Type"] = "application/json";
  request.headers["User-Agent"] = "gpu-sentinel";
  if (!settings_.secrets.empty()) {
    auto now = std::chrono::floor<std::chrono::seconds>(WallNow().since_epoch);
    std::string timestamp = std::to_string(now.count());
    request.headers["webhook-id"] = id;
    request.headers["webhook-signature"] = WebhookSignature(settings_.secrets, id, timestamp, body);
    request.headers["webhook-timestamp"] = std::move(timestamp);
  }
  request.body = std::move(body);
  HttpRequestOptions options;
  options.timeout = settings_.attempt_timeout;
  options.connect_timeout = settings_.connect_timeout;
  options.response_bytes_max = kAnswerBytesMax;
  options.tls = settings_.tls;
  HttpFetch(io_, settings_.url.endpoint, std::move(request), options,
            [alive = alive_, done = std::move(done)](const HttpOutcome& outcome) {
              if (*alive) done(JudgeReceiver(outcome));
            });
}

}  // namespace sentinel
