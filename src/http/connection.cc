#include "http/connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include "base/clock.h"
#include "http/connection_responder.h"

namespace sentinel {
namespace {

using boost::system::error_code;

// Answers that wait to be sent, beyond which no further request of the connection is taken up: a
// client that asks in a row and does not read waits for itself.
constexpr size_t kBacklogBytesMax = 256 * 1024;
// After our last word the client may still be sending (a body we refused). Closing then would
// reset the connection and take our answer with it, so we read on, this much and this long.
constexpr size_t kLingerBytesMax = 4 * 1024 * 1024;
constexpr Duration kLingerTime = std::chrono::seconds(1);

}  // namespace

Connection::Connection(Socket socket, std::string peer, std::shared_ptr<const UnixPeer> unix_peer,
                       std::shared_ptr<ServerContext> context)
    : stream_(std::move(socket), context->tls),
      peer_(std::move(peer)),
      unix_peer_(std::move(unix_peer)),
      context_(std::move(context)),
      parser_({context_->limits.header_bytes_max, context_->limits.body_bytes_max,
               context_->limits.body_bytes_max_of}),
      in_(context_->limits.header_bytes_max + 1, '\0') {}

Connection::~Connection() = default;

void Connection::Start() {
  if (stream_.tls()) return Shake();
  BeginReading();
}

void Connection::Shake() {
  state_ = State::kHandshaking;
  read_deadline_ = MonotonicNow() + context_->limits.read_timeout;
  stream_.Handshake(TlsSide::kServer, [self = shared_from_this()](error_code error) {
    if (self->state_ == State::kClosed) return;
    if (error || self->context_->stopping) return self->Close();
    self->certificate_ = self->stream_.CertificateName();
    self->BeginReading();
  });
}

void Connection::BeginReading() {
  WaitForRequest();
  // A client that connects and says nothing gets the time of a request, not that of a friend.
  read_deadline_ = std::min(read_deadline_, MonotonicNow() + context_->limits.read_timeout);
  StartRead();
}

void Connection::Close() {
  if (state_ == State::kClosed) return;
  auto self = shared_from_this();
  state_ = State::kClosed;
  error_code ignored;
  stream_.socket().close(ignored);
  context_->connections.erase(this);
}

void Connection::CloseIfIdle() {
  if (state_ == State::kHandshaking) return Close();
  if (state_ == State::kReading && !request_begun_ && Queued() == 0) Close();
}

void Connection::Tick(Instant now) {
  if (writing_ && now >= write_deadline_) return Close();
  if (state_ == State::kHandshaking && now >= read_deadline_) return Close();
  if (state_ == State::kLingering && now >= read_deadline_) return Close();
  if (state_ != State::kReading || now < read_deadline_) return;
  if (!reading_) return;  // it waits for the client to read our answers; write_deadline_ holds
  if (!request_begun_) return Close();
  Fail(408, "Request Timeout");
  Advance();
}

void Connection::WaitForRequest() {
  state_ = State::kReading;
  request_begun_ = false;
  continue_sent_ = false;
  read_deadline_ = MonotonicNow() + context_->limits.idle_timeout;
}

void Connection::StartRead() {
  reading_ = true;
  stream_.async_read_some(boost::asio::buffer(in_.data() + in_end_, in_.size() - in_end_),
                          [self = shared_from_this()](error_code error, size_t bytes) {
                            self->reading_ = false;
                            if (self->state_ == State::kClosed) return;
                            if (error && error != boost::asio::error::eof) return self->Close();
                            self->OnRead(bytes, error == boost::asio::error::eof);
                          });
}

// Who has just been answered may well have asked again by the time the others have had their turn:
// to look then, and not at once, is to look once.
void Connection::ReadSoon() {
  reading_ = true;
  boost::asio::post(stream_.get_executor(), [self = shared_from_this()] {
    if (self->state_ != State::kClosed) self->StartRead();
  });
}

void Connection::OnRead(size_t bytes, bool ended) {
  ended_ = ended_ || ended;
  switch (state_) {
    case State::kReading:
    case State::kHandling:
      in_end_ += bytes;
      return Advance();
    case State::kStreaming:
      if (ended_) return Close();
      return StartRead();
    case State::kLingering:
      lingered_bytes_ += bytes;
      if (ended_ || lingered_bytes_ > kLingerBytesMax) return Close();
      return StartRead();
    case State::kHandshaking:
    case State::kLastWrite:
    case State::kClosed:
      return;
  }
}

// Takes up what has arrived, sends what is due, and reads on: whatever happens to a connection ends
// here.
void Connection::Advance() {
  auto self = shared_from_this();
  bool starved = TakeUpRequests();
  if (starved && ended_) {
    state_ = State::kLastWrite;
    linger_ = false;
  }
  Flush();
  if (state_ == State::kLastWrite && Queued() == 0) return AfterLastWrite();
  bool wants_input = (state_ == State::kReading && starved) || state_ == State::kStreaming;
  if (wants_input && !reading_) ReadSoon();
}

// True if it stopped for want of input.
bool Connection::TakeUpRequests() {
  if (reading_) return state_ == State::kReading;
  in_advance_ = true;
  bool starved = false;
  while (state_ == State::kReading && !starved) {
    if (Queued() > kBacklogBytesMax) {
      Flush();
      if (Queued() > kBacklogBytesMax) break;
      continue;
    }
    if (in_begin_ == in_end_) {
      in_begin_ = in_end_ = 0;
      starved = true;
      break;
    }
    if (!request_begun_) {
      request_begun_ = true;
      read_deadline_ = MonotonicNow() + context_->limits.read_timeout;
    }
    starved = !TakeUpOne();
  }
  in_advance_ = false;
  return starved;
}

// False if the request is not whole yet.
bool Connection::TakeUpOne() {
  size_t consumed = 0;
  ParseState parsed =
      parser_.Feed(std::string_view(in_).substr(in_begin_, in_end_ - in_begin_), &consumed);
  in_begin_ += consumed;
  switch (parsed) {
    case ParseState::kDone:
      Dispatch();
      return true;
    case ParseState::kMore:
      break;
    case ParseState::kBad:
      Fail(400, "Bad Request");
      return true;
    case ParseState::kHeaderTooLong:
      Fail(431, "Request Header Fields Too Large");
      return true;
    case ParseState::kBodyTooLong:
      Fail(413, "Content Too Large");
      return true;
  }
  if (in_begin_ > 0) {
    std::memmove(in_.data(), in_.data() + in_begin_, in_end_ - in_begin_);
    in_end_ -= in_begin_;
    in_begin_ = 0;
  }
  if (in_end_ == in_.size()) {  // a chunk's framing that never ends
    Fail(400, "Bad Request");
    return true;
  }
  if (!large_body_ && parser_.body_bytes() > context_->limits.body_bytes_max) {
    if (!HasPlaceForLargeBody()) {
      Fail(503, "Service Unavailable: too many large bodies at once");
      return true;
    }
    large_body_ = true;
  }
  if (!continue_sent_ && parser_.ContinueIsDue()) {
    continue_sent_ = true;
    out_.append("HTTP/1.1 100 Continue\r\n\r\n");
  }
  return false;
}

// Counted when somebody asks: that is rare, and nothing has to be given back.
bool Connection::HasPlaceForLargeBody() const {
  int held = 0;
  int by_peer = 0;
  for (const auto& [key, connection] : context_->connections) {
    if (!connection->large_body_) continue;
    ++held;
    by_peer += connection->peer_ == peer_ ? 1 : 0;
  }
  const int max = context_->limits.large_bodies_max;
  return held < max && by_peer < std::max(1, max / 2);
}

void Connection::Dispatch() {
  keep_alive_ = parser_.keep_alive();
  http11_ = parser_.http11();
  HttpRequest request = parser_.Take();
  head_ = request.method == "HEAD";
  request.peer = peer_;
  request.unix_peer = unix_peer_;
  request.certificate = certificate_;
  state_ = State::kHandling;
  auto context = context_;  // the handler may end the server
  context->handler(std::move(request), ResponderOf(shared_from_this()));
}

void Connection::AfterLastWrite() {
  if (!linger_ || ended_) return Close();
  error_code ignored;
  // Through TLS the length of the answer is what says that it has ended.
  if (!stream_.tls()) {
    stream_.socket().shutdown(boost::asio::socket_base::shutdown_send, ignored);
  }
  state_ = State::kLingering;
  read_deadline_ = MonotonicNow() + kLingerTime;
  in_begin_ = in_end_ = 0;
  if (!reading_) StartRead();
}

}  // namespace sentinel
