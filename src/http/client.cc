#include "http/client.h"

#include <linux/sockios.h>
#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <sys/ioctl.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "base/clock.h"
#include "http/byte_stream.h"
#include "http/name_lookup.h"
#include "http/parser.h"
#include "http/serialize.h"

namespace sentinel {
namespace {

using boost::asio::generic::stream_protocol;
using boost::system::error_code;

constexpr size_t kResponseHeaderBytesMax = 16 * 1024;
constexpr size_t kAddressesMax = 8;  // of one name, tried in turn
constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;

std::string HostHeader(Endpoint endpoint) {
  if (endpoint.unix_socket) return "localhost";
  const bool usual = endpoint.port == (endpoint.tls ? kHttpsPort : kHttpPort);
  endpoint.tls = false;  // our word for it is no part of a host's name
  std::string text = endpoint.ToString();
  if (usual) text.resize(text.rfind(':'));
  return text;
}

bool SpeaksNoTls(error_code error) {
  return error.category() == boost::asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_WRONG_VERSION_NUMBER;
}

// Through TLS the other side may hang up without saying so first: many a small server ends each
// answer like that. Whether something is missing then is for the answer's own framing to tell, as
// it is without TLS.
bool IsEnd(error_code error) {
  return error == boost::asio::error::eof || error == boost::asio::ssl::error::stream_truncated;
}

// One request on its way. It lives in the handlers it waits for and ends in Finish.
class Fetch : public std::enable_shared_from_this<Fetch> {
 public:
  Fetch(boost::asio::io_context& io, Endpoint endpoint, const HttpRequest& request,
        HttpRequestOptions options, std::function<void(HttpOutcome)> done)
      : endpoint_(std::move(endpoint)),
        options_(std::move(options)),
        done_(std::move(done)),
        stream_(ByteStream::Socket(io), endpoint_.tls ? options_.tls : nullptr),
        lookups_(NameLookups::Of(io)),
        deadline_(io),
        connect_deadline_(io),
        parser_({kResponseHeaderBytesMax, options_.response_bytes_max}, request.method == "HEAD"),
        bytes_out_(SerializeRequest(request, HostHeader(endpoint_))),
        in_(kResponseHeaderBytesMax + 1, '\0') {}

  void Start() {
    started_ = MonotonicNow();
    deadline_.expires_after(options_.timeout);
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->FailTimeout();
    });
    if (endpoint_.tls && !stream_.tls()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "no CA is known for " + endpoint_.ToString() + " (tls.ca)");
    }
    if (endpoint_.unix_socket) {
      addresses_.emplace_back(boost::asio::local::stream_protocol::endpoint(endpoint_.host));
      return ConnectNext();
    }
    error_code not_literal;
    auto address = boost::asio::ip::make_address(endpoint_.host, not_literal);
    if (!not_literal) {
      addresses_.emplace_back(boost::asio::ip::tcp::endpoint(address, endpoint_.port));
      return ConnectNext();
    }
    Resolve();
  }

 private:
  void Resolve() {
    // Held by its deadline meanwhile: who has given up waits for no name server.
    lookups_.LookUp(endpoint_.host, [weak = weak_from_this()](const LookedUp& found) {
      const auto self = weak.lock();
      if (self == nullptr || self->finished_) return;
      if (!found.ok()) return self->Finish(found.error());
      for (const boost::asio::ip::address& address : *found) {
        if (self->addresses_.size() == kAddressesMax) break;
        self->addresses_.emplace_back(
            boost::asio::ip::tcp::endpoint(address, self->endpoint_.port));
      }
      self->ConnectNext();
    });
  }

  void ConnectNext() {
    if (next_address_ == addresses_.size()) {
      return Fail(ErrorCode::kUnavailable,
                  "cannot connect to " + endpoint_.ToString() + ": " + connect_error_);
    }
    const stream_protocol::endpoint& address = addresses_[next_address_++];
    error_code ignored;
    stream_.socket().close(ignored);
    if (stream_.tls()) stream_.Renew();
    size_t attempt = next_address_;
    connect_deadline_.expires_after(options_.connect_timeout);
    connect_deadline_.async_wait([self = shared_from_this(), attempt](error_code error) {
      if (error || self->finished_ || self->connected_ || attempt != self->next_address_) return;
      error_code closed;
      self->connect_timed_out_ = true;
      self->stream_.socket().close(closed);  // the connect below ends with operation_aborted
    });
    stream_.socket().async_connect(address, [self = shared_from_this()](error_code error) {
      if (self->finished_) return;
      self->connect_deadline_.cancel();
      bool timed_out = std::exchange(self->connect_timed_out_, false);
      if (!error && !timed_out) return self->Connected();
      self->connect_error_ = timed_out ? "no answer in time" : error.message();
      self->ConnectNext();
    });
  }

  void Connected() {
    connected_ = true;
    if (!stream_.tls()) return Exchange();
    if (!stream_.Expect(endpoint_.host)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "no certificate can bear the name '" + endpoint_.host + "'");
    }
    stream_.Handshake(TlsSide::kClient, [self = shared_from_this()](error_code error) {
      if (self->finished_) return;
      if (!error) return self->Exchange();
      std::string why = self->stream_.Refusal();
      if (why.empty() && SpeaksNoTls(error)) why = "what answers there speaks no TLS";
      self->Fail(ErrorCode::kUnavailable, "TLS with " + self->endpoint_.ToString() + ": " +
                                              error.message() + (why.empty() ? "" : ": " + why));
    });
  }

  // Writes and reads at once: a server may refuse before it has read everything, and what it says
  // is worth more than the broken pipe.
  void Exchange() {
    boost::asio::async_write(stream_, boost::asio::buffer(bytes_out_),
                             [self = shared_from_this()](error_code error, size_t) {
                               if (!error) self->sent_ = true;
                             });
    Read();
  }

  void Read() {
    stream_.async_read_some(boost::asio::buffer(in_.data() + in_size_, in_.size() - in_size_),
                            [self = shared_from_this()](error_code error, size_t bytes) {
                              if (!self->finished_) self->OnRead(error, bytes);
                            });
  }

  void OnRead(error_code error, size_t bytes) {
    in_size_ += bytes;
    ParseState state = ParseState::kMore;
    if (IsEnd(error)) {
      state = parser_.FeedEnd();
      if (state != ParseState::kDone) {
        sent_ = sent_ && ReachedThePeer();
        return Fail(ErrorCode::kUnavailable, "the connection ended before the answer did");
      }
    } else if (error) {
      // A reset: the other side went without reading all that had arrived.
      sent_ = false;
      return Fail(ErrorCode::kUnavailable, "the connection broke: " + error.message());
    } else {
      size_t consumed = 0;
      state = parser_.Feed({in_.data(), in_size_}, &consumed);
      in_.erase(0, consumed);
      in_.resize(kResponseHeaderBytesMax + 1);
      in_size_ -= consumed;
    }
    switch (state) {
      case ParseState::kMore:
        if (in_size_ == in_.size()) return Fail(ErrorCode::kCorrupt, "the answer is not HTTP");
        return Read();
      case ParseState::kDone:
        // The answer proves that the request arrived.
        sent_ = true;
        return Finish(parser_.Take());
      case ParseState::kBad:
        return Fail(ErrorCode::kCorrupt, "the answer is not HTTP");
      case ParseState::kHeaderTooLong:
        return Fail(ErrorCode::kExhausted, "the answer's header is too long");
      case ParseState::kBodyTooLong:
        return Fail(ErrorCode::kExhausted, "the answer's body is too long");
    }
  }

  // A connection that ends in order ends either behind a peer that has read what we sent, or before
  // a peer that hung up unheard. Then our bytes were never acknowledged.
  bool ReachedThePeer() {
    int unacknowledged = 0;
    return endpoint_.unix_socket ||
           ioctl(stream_.socket().native_handle(), SIOCOUTQ, &unacknowledged) != 0 ||
           unacknowledged == 0;
  }

  void FailTimeout() {
    Fail(ErrorCode::kTimeout, connected_ ? "no answer from " + endpoint_.ToString() + " in time"
                                         : "cannot reach " + endpoint_.ToString() + " in time");
  }

  void Fail(ErrorCode code, std::string message) { Finish(Error{code, std::move(message)}); }

  void Finish(Result<HttpResponse> response) {
    if (finished_) return;
    finished_ = true;
    deadline_.cancel();
    connect_deadline_.cancel();
    error_code ignored;
    stream_.socket().close(ignored);
    HttpOutcome outcome;
    outcome.response = std::move(response);
    outcome.sent = sent_;
    outcome.status = parser_.status();
    outcome.elapsed = MonotonicNow() - started_;
    std::exchange(done_, nullptr)(std::move(outcome));
  }

  Endpoint endpoint_;
  HttpRequestOptions options_;
  std::function<void(HttpOutcome)> done_;
  ByteStream stream_;
  NameLookups& lookups_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer connect_deadline_;
  ResponseParser parser_;
  std::string bytes_out_;
  std::string in_;  // fixed size; in_size_ bytes of it are unread
  size_t in_size_ = 0;

  Instant started_;
  std::vector<stream_protocol::endpoint> addresses_;
  size_t next_address_ = 0;
  std::string connect_error_ = "no address";
  bool connect_timed_out_ = false;
  bool connected_ = false;
  bool sent_ = false;
  bool finished_ = false;
};

}  // namespace

void HttpFetch(boost::asio::io_context& io, const Endpoint& endpoint, HttpRequest request,
               HttpRequestOptions options, std::function<void(HttpOutcome)> done) {
  auto fetch = std::make_shared<Fetch>(io, endpoint, request, options, std::move(done));
  boost::asio::post(io, [fetch] { fetch->Start(); });
}

}  // namespace sentinel
