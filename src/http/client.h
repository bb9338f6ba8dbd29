// One HTTP request with a deadline. Connections are not kept: what we send is rare, and a fresh one
// tells the truth.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <boost/asio/io_context.hpp>

#include "base/time.h"
#include "http/message.h"

namespace sentinel {

class TlsContext;

struct HttpOutcome {
  Result<HttpResponse> response = Error{ErrorCode::kUnavailable, "not sent"};
  // The whole request had been handed to the other side before it failed: it may have been carried
  // out ("unconfirmed"). False where the other side is known to have left without reading it.
  bool sent = false;
  // Of an answer whose header came whole, also where its body did not or is too long; else 0.
  // Nobody has signed it.
  int status = 0;
  Duration elapsed{0};
};

struct HttpRequestOptions {
  Duration timeout = std::chrono::seconds(3);  // for everything, resolving and connecting included
  Duration connect_timeout = std::chrono::seconds(1);
  size_t response_bytes_max = 256 * 1024;
  std::shared_ptr<TlsContext> tls{};  // for a tls: endpoint, which is not called without
};

// Redirects are never followed. `done` is called once, on the io_context, also when it is stopped
// by its owner going away only if the io_context still runs.
void HttpFetch(boost::asio::io_context& io, const Endpoint& endpoint, HttpRequest request,
               HttpRequestOptions options, std::function<void(HttpOutcome)> done);

}  // namespace sentinel
