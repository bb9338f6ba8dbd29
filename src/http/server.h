// An HTTP/1.1 server on Boost.Beast, on TCP or a Unix socket, bounded in every direction.
//
// Everything runs on the io_context's thread. A handler gets a whole request and a responder it may
// keep: it answers when it can (after a commit, say). A responder that is destroyed unanswered
// answers 500. The io_context outlives the server; a responder or stream may outlive it and is then
// without effect.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/result.h"
#include "base/time.h"
#include "http/message.h"

namespace sentinel {

struct HttpLimits {
  size_t body_bytes_max = 64 * 1024;  // beyond: 413
  // By path, where it takes more.
  std::map<std::string, size_t, std::less<>> body_bytes_max_of{};
  // Bodies beyond body_bytes_max that are being read or answered at once, half of them from one
  // peer address; beyond: 503 with Retry-After. So much memory, and no more, is held for them:
  // large_bodies_max times the largest of body_bytes_max_of.
  int large_bodies_max = 8;
  size_t header_bytes_max = 8 * 1024;  // beyond: 431
  int connections_max = 512;           // beyond: accepted and closed at once, counted
  double peer_share_max = 0.5;         // of connections_max, for one peer address, but at least one
                                       // connection; beyond: likewise, so that one stuck client
                                       // leaves room for all others. A Unix socket's peer is a
                                       // process
  Duration read_timeout =
      std::chrono::seconds(10);  // for a whole request, so a slow sender cannot hold a place
  Duration idle_timeout = std::chrono::seconds(30);  // between requests of a kept connection
  size_t stream_bytes_max =
      1u << 20;  // queued in one HttpStream; beyond: Write says no and the client is dropped
};

class TlsContext;

// A response without an end: server-sent events, frames. Chunked.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  // False once the client is gone or too slow (stream_bytes_max queued); the stream is then closed.
  virtual bool Write(std::string chunk) = 0;
  virtual void Close() = 0;
  virtual bool open() const = 0;
};

class HttpResponder {
 public:
  virtual ~HttpResponder() = default;
  virtual void Send(HttpResponse response) = 0;
  // Sends status and headers (the body of `head` is the first chunk, if any) and keeps the
  // connection for chunks.
  virtual std::shared_ptr<HttpStream> Stream(HttpResponse head) = 0;
};

using HttpHandler = std::function<void(HttpRequest, std::unique_ptr<HttpResponder>)>;

class HttpServer {
 public:
  // Listens at once. What arrives at a tls: endpoint goes through `tls`, which is then needed. A
  // Unix socket is made with mode 0660, replacing a dead one (nobody answers on it), never a live
  // one.
  static Result<std::unique_ptr<HttpServer>> Listen(boost::asio::io_context& io,
                                                    const Endpoint& endpoint, HttpLimits limits,
                                                    HttpHandler handler,
                                                    std::shared_ptr<TlsContext> tls = nullptr);
  virtual ~HttpServer() = default;

  // The port really bound (asked for 0: any free one).
  virtual uint16_t port() const = 0;
  virtual int connections() const = 0;
  // Closed at once because connections_max or its peer's share was reached, since the start.
  virtual uint64_t connections_refused() const = 0;
  // Stops accepting; running requests may finish until the object goes.
  virtual void Stop() = 0;
};

// Exact paths to handlers: 404 for others, 405 with Allow for another method. A path ending in '*'
// takes the rest. HEAD is answered by the handler of GET.
class HttpRouter {
 public:
  void Add(std::string method, std::string path, HttpHandler handler);
  // Method and path of all of them.
  std::vector<std::pair<std::string, std::string>> Served() const;
  void operator()(HttpRequest request, std::unique_ptr<HttpResponder> responder) const;

 private:
  std::map<std::string, std::map<std::string, HttpHandler>> routes_;
};

}  // namespace sentinel
