#include "signal/answer.h"

#include <charconv>
#include <utility>

namespace sentinel {
namespace {

constexpr std::chrono::seconds kRetryAfterMax{3600};
constexpr size_t kQuotedBodyMax = 120;

// Seconds; the other form, a date, needs two clocks to agree and is not read.
std::optional<Duration> RetryAfter(const HttpResponse& response) {
  auto header = response.headers.find("Retry-After");
  if (header == response.headers.end()) return std::nullopt;
  const std::string& text = header->second;
  int64_t seconds = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0) return std::nullopt;
  return std::min(std::chrono::seconds(seconds), kRetryAfterMax);
}

SendOutcome OfStatus(int status, TerminalKind kind) {
  switch (status) {
    case 200:
      return SendOutcome::kDelivered;
    case 401:
    case 403:
      return SendOutcome::kRefused;
    case 400:
    case 413:
    case 415:
    case 422:
    case 431:
      return SendOutcome::kRejected;
    default:
      break;
  }
  // "Accepted" is not "carried out", and a plain terminal must not be asked without end.
  bool taken = status / 100 == 2;
  if (taken && kind == TerminalKind::kPlain) return SendOutcome::kUnconfirmed;
  return SendOutcome::kUnavailable;
}

// What the other side said, for a person and for a quoted value of a log line: nothing in it ends
// the value or the line.
std::string Words(const HttpResponse& response) {
  std::string words = "answered " + std::to_string(response.status);
  std::string body = response.body.substr(0, kQuotedBodyMax);
  for (char& c : body) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = ' ';
    if (c == '"') c = '\'';
  }
  return body.empty() ? words : words + ": " + body;
}

}  // namespace

std::string_view SendOutcomeName(SendOutcome outcome) {
  switch (outcome) {
    case SendOutcome::kDelivered:
      return "delivered";
    case SendOutcome::kRejected:
      return "rejected";
    case SendOutcome::kRefused:
      return "refused";
    case SendOutcome::kUnavailable:
      return "unavailable";
    case SendOutcome::kUnconfirmed:
      return "unconfirmed";
  }
  return "";
}

SendResult JudgeAnswer(const HttpOutcome& outcome, TerminalKind kind) {
  SendResult result;
  result.elapsed = outcome.elapsed;
  if (!outcome.response.ok()) {
    result.error = outcome.response.error().message;
    bool may_shout = outcome.sent && kind == TerminalKind::kPlain;
    result.outcome = may_shout ? SendOutcome::kUnconfirmed : SendOutcome::kUnavailable;
    return result;
  }
  const HttpResponse& response = outcome.response.value();
  result.status = response.status;
  result.outcome = OfStatus(response.status, kind);
  result.retry_after = RetryAfter(response);
  if (result.outcome != SendOutcome::kDelivered) result.error = Words(response);
  return result;
}

SendResult JudgeReceiver(const HttpOutcome& outcome) {
  if (!outcome.response.ok() && outcome.status != 0) {
    HttpOutcome answered = outcome;
    HttpResponse without_body;
    without_body.status = outcome.status;
    answered.response = std::move(without_body);
    return JudgeReceiver(answered);
  }
  SendResult result = JudgeAnswer(outcome, TerminalKind::kSentinel);
  if (result.status / 100 == 2) {
    result.outcome = SendOutcome::kDelivered;
    result.error.clear();
  }
  return result;
}

}  // namespace sentinel
