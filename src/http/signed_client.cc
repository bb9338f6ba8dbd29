#include "http/signed_client.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "base/clock.h"
#include "http/http_date.h"
#include "http/signed_message.h"
#include "wire/talk_json.h"

namespace sentinel {
namespace {

using std::chrono::milliseconds;

// A refusal is the clock's fault only if the clocks differ by about what v1 tolerates.
constexpr std::chrono::seconds kClockDoubt{25};
// An answer that took longer tells the time too roughly.
constexpr Duration kTimeWithin = std::chrono::seconds(1);
// With less of its time left, a request is not said once more.
constexpr Duration kSecondTryMin = milliseconds(50);
constexpr size_t kTimeBytesMax = 4096;

milliseconds RoundedMillis(Duration duration) {
  return std::chrono::duration_cast<milliseconds>(duration);
}

}  // namespace

// One request and what becomes of it.
struct Exchange {
  HttpRequest request;
  HttpRequestOptions options;
  std::function<void(HttpOutcome)> done;
  Question question;
  Duration spent{0};
  bool second_try = false;
};

struct SignedClient::State : std::enable_shared_from_this<SignedClient::State> {
  State(boost::asio::io_context& context, SignedClientOptions with)
      : io(context), options(std::move(with)), proven(options.use == SignatureUse::kV2Only) {}

  bool SpeaksV2() const { return options.use != SignatureUse::kV1Only; }
  bool DemandsV2() const { return SpeaksV2() && proven; }

  void Send(const std::shared_ptr<Exchange>& exchange);
  void Answered(const std::shared_ptr<Exchange>& exchange, HttpOutcome outcome);
  void AskTime(const std::shared_ptr<Exchange>& exchange, HttpOutcome refused);
  bool LearnTime(const Question& question, const HttpOutcome& outcome, milliseconds middle);
  void LearnDate(const HttpResponse& refusal);
  void Prove();

  boost::asio::io_context& io;
  SignedClientOptions options;
  bool alive = true;
  bool proven;
  std::function<void()> told;
  milliseconds ahead{0};
  std::string boot_id;  // of the other side, as it said signed
};

void SignedClient::State::Send(const std::shared_ptr<Exchange>& exchange) {
  const WallTime now = WallNow();
  const std::vector<KeyPair> keys = options.keys.Active(now);
  if (keys.empty()) {
    HttpOutcome outcome;
    outcome.response =
        Error{ErrorCode::kDenied, "none of the keys for " + options.audience + " is valid now"};
    boost::asio::post(io, [self = shared_from_this(), exchange, outcome = std::move(outcome)] {
      if (self->alive) exchange->done(outcome);
    });
    return;
  }
  HttpRequest request = exchange->request;
  const milliseconds there = now.since_epoch + ahead;
  if (SpeaksV2()) {
    if (!boot_id.empty()) request.headers[std::string(kBootHeader)] = boot_id;
    AddSignatureV2(&request, options.audience, keys, there.count());
    exchange->question = QuestionOf(request);
  }
  if (!DemandsV2()) {
    // One signature fits: of the older key, which the other side knows for longer.
    AddSignatureV1(&request, keys.front(), std::chrono::floor<std::chrono::seconds>(there).count());
  }
  HttpRequestOptions within = exchange->options;
  within.timeout -= exchange->spent;
  HttpFetch(io, options.endpoint, std::move(request), within,
            [self = shared_from_this(), exchange](HttpOutcome outcome) {
              if (self->alive) self->Answered(exchange, std::move(outcome));
            });
}

void SignedClient::State::Answered(const std::shared_ptr<Exchange>& exchange, HttpOutcome outcome) {
  exchange->spent += outcome.elapsed;
  outcome.elapsed = exchange->spent;
  if (!outcome.response.ok()) return exchange->done(std::move(outcome));
  const bool refused = outcome.response->status == 401 || outcome.response->status == 403;
  if (SpeaksV2()) {
    const bool authentic = IsAnswerOf(exchange->question, options.audience, options.keys, WallNow(),
                                      *outcome.response);
    if (authentic) Prove();
    const bool time_left = exchange->options.timeout - exchange->spent > kSecondTryMin;
    // A lamp of another maker refuses in its own way, and knows no such question.
    if (outcome.response->status == 401 && proven && !exchange->second_try && time_left) {
      return AskTime(exchange, std::move(outcome));
    }
    if (!authentic && proven) {
      outcome.response =
          Error{ErrorCode::kDenied, "answered " + std::to_string(outcome.response->status) +
                                        ", but the answer is not signed with a key of " +
                                        options.audience};
      return exchange->done(std::move(outcome));
    }
  }
  if (refused && !proven) LearnDate(*outcome.response);
  exchange->done(std::move(outcome));
}

void SignedClient::State::AskTime(const std::shared_ptr<Exchange>& exchange, HttpOutcome refused) {
  exchange->second_try = true;
  HttpRequest request;
  request.method = "GET";
  request.path = "/api/v1/time";
  std::string ids;
  for (const KeyPair& key : options.keys.Active(WallNow())) {
    ids += (ids.empty() ? "" : ",") + key.key;
  }
  request.headers[std::string(kNonceHeader)] = MakeNonce();
  request.headers[std::string(kKeyIdsHeader)] = std::move(ids);
  Question question = QuestionOf(request);
  HttpRequestOptions within = exchange->options;
  within.timeout = std::min(kTimeWithin, exchange->options.timeout - exchange->spent);
  within.response_bytes_max = kTimeBytesMax;
  HttpFetch(io, options.endpoint, std::move(request), within,
            [self = shared_from_this(), exchange, question = std::move(question),
             refused = std::move(refused), asked = WallNow()](const HttpOutcome& outcome) mutable {
              if (!self->alive) return;
              exchange->spent += outcome.elapsed;
              refused.elapsed = exchange->spent;
              milliseconds middle = asked.since_epoch + RoundedMillis(outcome.elapsed) / 2;
              bool learned = self->LearnTime(question, outcome, middle);
              bool time_left = exchange->options.timeout - exchange->spent > kSecondTryMin;
              if (learned && time_left) return self->Send(exchange);
              self->Answered(exchange, std::move(refused));
            });
}

bool SignedClient::State::LearnTime(const Question& question, const HttpOutcome& outcome,
                                    milliseconds middle) {
  if (!outcome.response.ok() || outcome.response->status != 200) return false;
  if (!IsAnswerOf(question, options.audience, options.keys, WallNow(), *outcome.response)) {
    return false;
  }
  Result<TimeAnswer> answer = ParseTimeAnswer(outcome.response->body);
  if (!answer.ok()) return false;
  Prove();
  boot_id = std::move(answer->boot_id);
  ahead = answer->since_epoch - middle;
  return true;
}

// The only clock that a lamp which knows v1 alone tells us.
void SignedClient::State::LearnDate(const HttpResponse& refusal) {
  auto header = refusal.headers.find("Date");
  if (header == refusal.headers.end()) return;
  std::optional<WallTime> theirs = ParseHttpDate(header->second);
  if (!theirs) return;
  milliseconds found = theirs->since_epoch - WallNow().since_epoch;
  ahead = std::chrono::abs(found) > kClockDoubt ? found : milliseconds(0);
}

void SignedClient::State::Prove() {
  if (proven) return;
  proven = true;
  if (told) told();
}

SignedClient::SignedClient(boost::asio::io_context& io, SignedClientOptions options)
    : state_(std::make_shared<State>(io, std::move(options))) {}

SignedClient::~SignedClient() { state_->alive = false; }

void SignedClient::Fetch(HttpRequest request, HttpRequestOptions options,
                         std::function<void(HttpOutcome)> done) {
  auto exchange = std::make_shared<Exchange>();
  exchange->request = std::move(request);
  exchange->options = std::move(options);
  exchange->options.tls = state_->options.tls;
  exchange->done = std::move(done);
  state_->Send(exchange);
}

bool SignedClient::proven() const { return state_->proven; }
void SignedClient::RememberProven() { state_->proven = state_->SpeaksV2(); }
void SignedClient::OnProven(std::function<void()> told) { state_->told = std::move(told); }
milliseconds SignedClient::clock_ahead() const { return state_->ahead; }

}  // namespace sentinel
