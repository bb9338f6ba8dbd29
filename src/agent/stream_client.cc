#include "agent/stream_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "agent/backoff.h"
#include "agent/outgoing.h"
#include "http/byte_stream.h"
#include "probe/host/network_interface.h"
#include "wire/agent_stream.h"

namespace sentinel {
namespace {

using boost::asio::generic::stream_protocol;
using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr auto kConnectWithin = std::chrono::seconds(3);
constexpr auto kWelcomeWithin = std::chrono::seconds(3);
// Bytes that nobody has confirmed for so long: the other side is gone without a word. There is
// always something to confirm, since a heartbeat leaves four times a second.
constexpr unsigned kUnconfirmedMaxMs = 5000;
constexpr size_t kReadBytes = 16 * 1024;

// One try and the connection that comes of it. Outlives its owner's interest until its last
// callback.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void OnUp(Connection* connection) = 0;
    virtual bool OnPayload(const std::string& payload) = 0;  // false: not to be borne
    virtual void OnDown(const std::string& why) = 0;
    virtual bool NextFrame(std::string* frame) = 0;
  };

  Connection(boost::asio::io_context& io, std::shared_ptr<TlsContext> tls, Owner* owner)
      : resolver_(io),
        stream_(stream_protocol::socket(io), std::move(tls)),
        deadline_(io),
        owner_(owner) {}

  void Start(const Endpoint& gateway, const std::string& interface) {
    interface_ = interface;
    if (gateway.tls && !stream_.tls()) return Fail("no CA is known for it (tls.ca)");
    Within(kConnectWithin, "no connection within 3 s");
    if (gateway.unix_socket) {
      targets_ = {boost::asio::local::stream_protocol::endpoint(gateway.host)};
      Try(0);
      return;
    }
    error_code not_literal;
    const auto address = boost::asio::ip::make_address(gateway.host, not_literal);
    if (!not_literal) {
      targets_ = {tcp::endpoint(address, gateway.port)};
      Try(0);
      return;
    }
    resolver_.async_resolve(gateway.host, std::to_string(gateway.port),
                            [self = shared_from_this()](const error_code& error, auto results) {
                              if (error) return self->Fail("resolving: " + error.message());
                              for (const auto& result : results) {
                                self->targets_.emplace_back(result.endpoint());
                              }
                              self->Try(0);
                            });
  }

  void Welcomed() { deadline_.cancel(); }

  // Frames are waiting.
  void Kick() {
    if (owner_ == nullptr || !up_ || writing_) return;
    if (!owner_->NextFrame(&out_)) return;
    writing_ = true;
    boost::asio::async_write(stream_, boost::asio::buffer(out_),
                             [self = shared_from_this()](const error_code& error, size_t) {
                               self->writing_ = false;
                               if (error) return self->Fail("writing: " + error.message());
                               self->Kick();
                             });
  }

  std::string LocalAddress() const {
    error_code error;
    const auto local = stream_.socket().local_endpoint(error);
    return error ? std::string() : AddressText(local.data());
  }

  // No callback reaches the owner from here on.
  void Abandon() {
    owner_ = nullptr;
    resolver_.cancel();
    deadline_.cancel();
    error_code ignored;
    stream_.socket().close(ignored);
  }

 private:
  void Try(size_t index) {
    if (owner_ == nullptr) return;
    if (index >= targets_.size()) return Fail(last_error_.empty() ? "no address" : last_error_);
    error_code error;
    stream_.socket().close(error);
    stream_.socket().open(targets_[index].protocol(), error);
    if (error) return Fail("socket: " + error.message());
    if (targets_[index].protocol().family() != AF_UNIX) {
      const int yes = 1;
      setsockopt(stream_.socket().native_handle(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      setsockopt(stream_.socket().native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT,
                 &kUnconfirmedMaxMs, sizeof kUnconfirmedMaxMs);
      if (!interface_.empty()) {
        const Status bound = BindToInterface(stream_.socket().native_handle(), interface_);
        if (!bound.ok()) return Fail(bound.error().message);
      }
    }
    stream_.socket().async_connect(targets_[index],
                                   [self = shared_from_this(), index](const error_code& failed) {
                                     if (self->owner_ == nullptr) return;
                                     if (failed) {
                                       self->last_error_ = "connecting: " + failed.message();
                                       return self->Try(index + 1);
                                     }
                                     self->Within(kWelcomeWithin, "no welcome within 3 s");
                                     self->Connected();
                                   });
  }

  void Connected() {
    if (!stream_.tls()) return Begin();
    stream_.Handshake(TlsSide::kClient, [self = shared_from_this()](const error_code& failed) {
      if (self->owner_ == nullptr) return;
      if (failed) return self->Fail("TLS: " + failed.message());
      self->Begin();
    });
  }

  void Begin() {
    up_ = true;
    owner_->OnUp(this);
    Kick();
    Read();
  }

  void Read() {
    stream_.async_read_some(boost::asio::buffer(in_),
                            [self = shared_from_this()](const error_code& error, size_t size) {
                              if (self->owner_ == nullptr) return;
                              if (error) return self->Fail("reading: " + error.message());
                              self->Take(size);
                            });
  }

  void Take(size_t size) {
    const Status taken = frames_.Append(std::string_view(in_.data(), size));
    std::string payload;
    while (owner_ != nullptr && frames_.Next(&payload)) {
      if (!owner_->OnPayload(payload)) return Fail("the gateway does not speak our protocol");
    }
    if (owner_ == nullptr) return;
    if (!taken.ok()) return Fail(taken.error().message);
    Read();
  }

  void Within(std::chrono::seconds limit, const char* why) {
    deadline_.expires_after(limit);
    deadline_.async_wait([self = shared_from_this(), why](const error_code& cancelled) {
      if (!cancelled) self->Fail(why);
    });
  }

  void Fail(const std::string& why) {
    Owner* owner = owner_;
    if (owner == nullptr) return;
    Abandon();
    owner->OnDown(why);
  }

  tcp::resolver resolver_;
  ByteStream stream_;
  boost::asio::steady_timer deadline_;
  Owner* owner_;  // null: nobody cares any more
  std::string interface_;
  std::vector<stream_protocol::endpoint> targets_;
  std::string last_error_;
  bool up_ = false;
  bool writing_ = false;
  std::string out_;
  std::array<char, kReadBytes> in_{};
  FrameReader frames_;
};

class Client final : public StreamClient, public Connection::Owner {
 public:
  Client(boost::asio::io_context& io, StreamClientOptions options, StreamListener* listener)
      : io_(io),
        options_(std::move(options)),
        listener_(listener),
        backoff_(options_.seed),
        retry_(io) {
    ConnectAfter(Duration(0));
  }
  ~Client() override {
    if (connection_) connection_->Abandon();
  }

  void Send(const UpMessage& message) override {
    if (!connected_) return;
    outgoing_.Push(message);
    connection_->Kick();
  }
  bool connected() const override { return connected_; }
  uint64_t dropped() const override { return outgoing_.dropped(); }

 private:
  void ConnectAfter(Duration wait) {
    retry_.expires_after(wait);
    retry_.async_wait([this, alive = std::weak_ptr<int>(alive_)](const error_code& cancelled) {
      // One that is due already comes without an error, also after we have gone.
      if (cancelled || alive.expired()) return;
      // It may fail at once, and be let go while it still runs.
      const auto connection =
          std::make_shared<Connection>(io_, options_.gateway.tls ? options_.tls : nullptr, this);
      connection_ = connection;
      connection->Start(options_.gateway, options_.interface);
    });
  }

  void OnUp(Connection*) override { outgoing_.Push(options_.hello); }

  bool OnPayload(const std::string& payload) override {
    Result<DownMessage> message = DecodeDown(payload);
    if (!message.ok()) return false;
    if (const Welcome* welcome = std::get_if<Welcome>(&*message)) {
      if (welcome->protocol != kAgentProtocol) return false;
      connection_->Welcomed();
      backoff_.Reset();
      connected_ = true;
      listener_->OnConnected(welcome->gateway_id, connection_->LocalAddress());
      return true;
    }
    if (connected_) listener_->OnMessage(std::move(message).value());
    return true;
  }

  void OnDown(const std::string& why) override {
    connected_ = false;
    outgoing_.Clear();
    connection_.reset();
    ConnectAfter(backoff_.Next());
    listener_->OnDisconnected(why);
  }

  bool NextFrame(std::string* frame) override {
    if (outgoing_.empty()) return false;
    *frame = outgoing_.Pop();
    return true;
  }

  boost::asio::io_context& io_;
  StreamClientOptions options_;
  StreamListener* listener_;
  Backoff backoff_;
  boost::asio::steady_timer retry_;
  std::shared_ptr<Connection> connection_;
  Outgoing outgoing_;
  bool connected_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace

std::unique_ptr<StreamClient> StreamClient::Create(boost::asio::io_context& io,
                                                   StreamClientOptions options,
                                                   StreamListener* listener) {
  return std::make_unique<Client>(io, std::move(options), listener);
}

}  // namespace sentinel
