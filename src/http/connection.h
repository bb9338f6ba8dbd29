// One connection of a server: bytes in, requests to the handler, answers out, deadlines kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/time.h"
#include "http/byte_stream.h"
#include "http/parser.h"
#include "http/server.h"
#include "http/server_context.h"

namespace sentinel {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = ByteStream::Socket;

  // `unix_peer` is null over TCP.
  Connection(Socket socket, std::string peer, std::shared_ptr<const UnixPeer> unix_peer,
             std::shared_ptr<ServerContext> context);
  ~Connection();

  void Start();
  // Gone at once, whatever was under way.
  void Close();
  // For a server that stops: closes if no request is under way.
  void CloseIfIdle();
  // Enforces the deadlines; the server calls it a few times within the shortest of them.
  void Tick(Instant now);

  // The answer to the request handed out last.
  void Respond(const HttpResponse& response);
  void BeginStream(const HttpResponse& head);
  bool WriteStream(std::string_view chunk);
  void EndStream();
  bool streaming() const { return state_ == State::kStreaming; }
  const std::string& peer() const { return peer_; }

 private:
  enum class State {
    kHandshaking,
    kReading,    // a request, or the wait for one
    kHandling,   // the handler has it; nothing is read
    kStreaming,  // a response without an end; what arrives is thrown away
    kLastWrite,  // what is queued is the last
    kLingering,  // all said; reading what the client still sends, so that it can read our answer
    kClosed,
  };

  void Shake();
  void BeginReading();
  void StartRead();
  void ReadSoon();
  void OnRead(size_t bytes, bool ended);
  void Advance();
  bool TakeUpRequests();
  bool TakeUpOne();
  void Dispatch();
  bool HasPlaceForLargeBody() const;
  void Fail(int status, std::string_view why);
  void Flush();
  void WriteRest();
  void AfterLastWrite();
  size_t Queued() const { return out_.size() + (in_flight_.size() - in_flight_sent_); }
  void WaitForRequest();

  ByteStream stream_;
  std::string peer_;
  std::string certificate_;  // its common name; empty: none shown
  std::shared_ptr<const UnixPeer> unix_peer_;
  std::shared_ptr<ServerContext> context_;
  RequestParser parser_;

  State state_ = State::kReading;
  bool reading_ = false;
  bool in_advance_ = false;  // TakeUpRequests is on the stack: Respond leaves the rest to it
  bool request_begun_ = false;
  bool continue_sent_ = false;
  bool keep_alive_ = true;
  bool http11_ = true;
  bool head_ = false;
  bool ended_ = false;  // the client will send no more
  bool linger_ = false;
  bool large_body_ = false;  // it holds one of large_bodies_max places, until it has answered

  std::string in_;  // fixed size; the unread bytes are [in_begin_, in_end_)
  size_t in_begin_ = 0;
  size_t in_end_ = 0;
  size_t lingered_bytes_ = 0;

  std::string out_;        // next to send
  std::string in_flight_;  // being sent
  size_t in_flight_sent_ = 0;
  bool writing_ = false;

  Instant read_deadline_;
  Instant write_deadline_;
};

}  // namespace sentinel
