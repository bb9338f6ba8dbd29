// What a connection says: answers, streams, and how their bytes leave.
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include "base/clock.h"
#include "http/connection.h"
#include "http/serialize.h"

namespace sentinel {
namespace {

using boost::system::error_code;

}  // namespace

void Connection::Fail(int status, std::string_view why) {
  state_ = State::kLastWrite;
  linger_ = true;
  HttpResponse refusal = TextResponse(status, std::string(why));
  if (status == 503) refusal.headers["Retry-After"] = "1";
  AppendResponse(refusal, BodyFraming::kLength, ConnectionFate::kClose, context_->Date(), &out_);
}

void Connection::Respond(const HttpResponse& response) {
  if (state_ != State::kHandling) return;  // closed meanwhile
  large_body_ = false;
  bool keep = keep_alive_ && !context_->stopping;
  ConnectionFate fate = !keep     ? ConnectionFate::kClose
                        : http11_ ? ConnectionFate::kKeep
                                  : ConnectionFate::kKeepHttp10;
  AppendResponse(response, head_ ? BodyFraming::kNoBody : BodyFraming::kLength, fate,
                 context_->Date(), &out_);
  if (keep) {
    WaitForRequest();
  } else {
    state_ = State::kLastWrite;
    linger_ = true;
  }
  if (!in_advance_) Advance();
}

void Connection::BeginStream(const HttpResponse& head) {
  if (state_ != State::kHandling) return;
  large_body_ = false;
  state_ = State::kStreaming;
  AppendResponse(head, http11_ ? BodyFraming::kChunked : BodyFraming::kUntilEnd,
                 ConnectionFate::kClose, context_->Date(), &out_);
  if (!head.body.empty()) WriteStream(head.body);
  if (state_ == State::kStreaming && head_) EndStream();
  if (!in_advance_) Advance();
}

bool Connection::WriteStream(std::string_view chunk) {
  if (state_ != State::kStreaming) return false;
  if (chunk.empty() || head_) return true;
  if (Queued() + chunk.size() > context_->limits.stream_bytes_max) {
    Close();
    return false;
  }
  if (http11_) {
    AppendChunk(chunk, &out_);
  } else {
    out_.append(chunk);
  }
  Flush();
  return state_ == State::kStreaming;
}

void Connection::EndStream() {
  if (state_ != State::kStreaming) return;
  if (http11_ && !head_) AppendChunk("", &out_);
  state_ = State::kLastWrite;
  linger_ = true;
  if (!in_advance_) Advance();
}

// Most answers fit the socket's buffer, so they are sent on the spot and cost no turn of the
// event loop; only the rest of a long one waits.
void Connection::Flush() {
  if (writing_ || out_.empty() || state_ == State::kClosed) return;
  in_flight_.clear();
  in_flight_.swap(out_);
  in_flight_sent_ = 0;
  error_code error;
  // What a socket does not take now, TLS would lose: there all of it waits for the event loop.
  if (!stream_.tls()) {
    in_flight_sent_ = stream_.socket().write_some(boost::asio::buffer(in_flight_), error);
  }
  if (error && error != boost::asio::error::would_block) return Close();
  if (in_flight_sent_ == in_flight_.size()) return;
  writing_ = true;
  write_deadline_ = MonotonicNow() + context_->limits.idle_timeout;
  WriteRest();
}

void Connection::WriteRest() {
  stream_.async_write_some(
      boost::asio::buffer(in_flight_.data() + in_flight_sent_, in_flight_.size() - in_flight_sent_),
      [self = shared_from_this()](error_code error, size_t bytes) {
        if (self->state_ == State::kClosed) return;
        if (error) return self->Close();
        self->in_flight_sent_ += bytes;
        if (self->in_flight_sent_ < self->in_flight_.size()) return self->WriteRest();
        self->writing_ = false;
        self->Advance();
      });
}

}  // namespace sentinel
