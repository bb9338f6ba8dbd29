// Requests to somebody we share keys with: signed, and answers believed only if they are, too.
//
// Beside v2 the old signature goes along, until the other side has once answered v2: from then on
// nothing is sent or believed without it (the downgrade guard). Its refusal is then followed by the
// question what time it is there, and by the request once more within the same time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "http/client.h"
#include "http/message.h"
#include "http/request_authenticator.h"
#include "signature/key_ring.h"

namespace sentinel {

struct SignedClientOptions {
  Endpoint endpoint;
  KeyRing keys;
  std::string audience;  // a terminal's name, or kGatewayAudience
  SignatureUse use = SignatureUse::kAuto;
  std::shared_ptr<TlsContext> tls{};  // for a tls: endpoint
};

class SignedClient {
 public:
  SignedClient(boost::asio::io_context& io, SignedClientOptions options);
  // Requests under way are forgotten: their `done` is not called.
  ~SignedClient();
  SignedClient(const SignedClient&) = delete;
  SignedClient& operator=(const SignedClient&) = delete;

  // As HttpFetch. An answer that had to be signed and is not comes as kDenied.
  void Fetch(HttpRequest request, HttpRequestOptions options,
             std::function<void(HttpOutcome)> done);

  // Whether it has ever answered v2; as it was in an earlier process; told once when it first does.
  bool proven() const;
  void RememberProven();
  void OnProven(std::function<void()> told);

  // How far its clock is ahead of ours, as far as it had to be learned.
  std::chrono::milliseconds clock_ahead() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sentinel
