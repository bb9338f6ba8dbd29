#include "signal/terminal_driver.h"

#include <utility>

#include "wire/terminal_json.h"

namespace sentinel {
namespace {

HttpRequest RequestFor(const Notification& notification) {
  HttpRequest request;
  request.method = "POST";
  request.path = "/api/v1/send_msg";
  request.body = WriteTerminalMessage(notification.message);
  request.headers["Content-Type"] = "application/json";
  // Ours, covered by signature v2: an old terminal passes over them.
  request.headers["X-Message-Id"] = notification.id;
  request.headers["X-Incident-Id"] = notification.incident;
  request.headers["X-Sequence"] = std::to_string(notification.sequence);
  request.headers["X-Severity"] = SeverityName(notification.severity);
  return request;
}

}  // namespace

std::shared_ptr<SignedClient> MakeTerminalClient(boost::asio::io_context& io,
                                                 const TerminalSettings& settings) {
  return std::make_shared<SignedClient>(
      io, SignedClientOptions{settings.endpoint, settings.keys, settings.name, settings.signature,
                              settings.tls});
}

TerminalDriver::TerminalDriver(std::shared_ptr<SignedClient> client, TerminalSettings settings)
    : client_(std::move(client)), settings_(std::move(settings)) {}

TerminalDriver::~TerminalDriver() { *alive_ = false; }

void TerminalDriver::Send(const Notification& notification, std::function<void(SendResult)> done) {
  HttpRequestOptions options;
  options.timeout = settings_.attempt_timeout;
  options.connect_timeout = settings_.connect_timeout;
  options.response_bytes_max = kAnswerBytesMax;
  client_->Fetch(
      RequestFor(notification), options,
      [alive = alive_, kind = settings_.kind, done = std::move(done)](const HttpOutcome& outcome) {
        if (*alive) done(JudgeAnswer(outcome, kind));
      });
}

}  // namespace sentinel
