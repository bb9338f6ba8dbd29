#include "signal/terminal_driver.h"

#include <utility>

#include "base/clock.h"
#include "signal/http_date.h"
#include "wire/terminal_json.h"

namespace sentinel {
namespace {

constexpr size_t kAnswerBytesMax = 64 * 1024;
// A refusal is the clock's fault only if the clocks differ by about what the terminal tolerates.
constexpr std::chrono::seconds kClockDoubt{25};

}  // namespace

// What an attempt under way may still touch when the driver is gone.
struct TerminalDriver::Shared {
  bool alive = true;
  std::chrono::seconds clock_ahead{0};

  void LearnClock(const HttpResponse& refusal) {
    auto header = refusal.headers.find("Date");
    if (header == refusal.headers.end()) return;
    std::optional<WallTime> theirs = ParseHttpDate(header->second);
    if (!theirs) return;
    auto ahead =
        std::chrono::floor<std::chrono::seconds>(theirs->since_epoch - WallNow().since_epoch);
    clock_ahead = std::chrono::abs(ahead) > kClockDoubt ? ahead : std::chrono::seconds(0);
  }
};

TerminalDriver::TerminalDriver(boost::asio::io_context& io, TerminalSettings settings)
    : io_(io), settings_(std::move(settings)), shared_(std::make_shared<Shared>()) {}

TerminalDriver::~TerminalDriver() { shared_->alive = false; }

std::chrono::seconds TerminalDriver::clock_ahead() const { return shared_->clock_ahead; }

void TerminalDriver::LearnClock(const HttpResponse& refusal) { shared_->LearnClock(refusal); }

HttpRequest TerminalDriver::SignedPost(std::string path, std::string body) const {
  HttpRequest request;
  request.method = "POST";
  request.path = std::move(path);
  request.body = std::move(body);
  auto now = std::chrono::floor<std::chrono::seconds>(WallNow().since_epoch);
  std::string timestamp = std::to_string((now + shared_->clock_ahead).count());
  request.headers["Content-Type"] = "application/json";
  request.headers["X-API-Key"] = settings_.keys.key;
  request.headers["X-Signature"] = SignV1(settings_.keys.secret, timestamp, request.body);
  request.headers["X-Timestamp"] = std::move(timestamp);
  return request;
}

HttpRequest TerminalDriver::Request(const Notification& notification) const {
  HttpRequest request = SignedPost("/api/v1/send_msg", WriteTerminalMessage(notification.message));
  // Ours, beside the old ones: an old terminal passes over them.
  request.headers["X-Message-Id"] = notification.id;
  request.headers["X-Incident-Id"] = notification.incident;
  request.headers["X-Sequence"] = std::to_string(notification.sequence);
  request.headers["X-Severity"] = SeverityName(notification.severity);
  return request;
}

void TerminalDriver::Send(const Notification& notification, std::function<void(SendResult)> done) {
  HttpRequestOptions options;
  options.timeout = settings_.attempt_timeout;
  options.connect_timeout = settings_.connect_timeout;
  options.response_bytes_max = kAnswerBytesMax;
  HttpFetch(io_, settings_.endpoint, Request(notification), options,
            [shared = shared_, kind = settings_.kind, done = std::move(done)](HttpOutcome outcome) {
              if (!shared->alive) return;
              SendResult result = JudgeAnswer(outcome, kind);
              if (result.outcome == SendOutcome::kRefused) {
                shared->LearnClock(outcome.response.value());
              }
              done(std::move(result));
            });
}

}  // namespace sentinel
