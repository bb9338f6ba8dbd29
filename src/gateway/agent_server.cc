#include "gateway/agent_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "base/clock.h"
#include "http/byte_stream.h"
#include "wire/agent_stream.h"

namespace sentinel {
namespace {

using boost::asio::generic::stream_protocol;
using boost::system::error_code;

constexpr size_t kReadBytes = 16 * 1024;
constexpr auto kAcceptPause = std::chrono::milliseconds(100);
constexpr auto kTick = std::chrono::seconds(1);

Error ListenError(const Endpoint& endpoint, const std::string& why) {
  return {ErrorCode::kUnavailable,
          "cannot listen for agents on " + endpoint.ToString() + ": " + why};
}

class Link;

class Server final : public AgentServer {
 public:
  Server(boost::asio::io_context& io, AgentLimits limits, std::string gateway_id,
         AgentListener* listener, std::shared_ptr<TlsContext> tls)
      : io_(io),
        tls_(std::move(tls)),
        limits_(limits),
        gateway_id_(std::move(gateway_id)),
        listener_(listener),
        tick_(io) {}
  ~Server() override;

  Status Open(const Endpoint& endpoint);
  void Begin() { Tick(); }

  bool Send(const std::string& agent, const DownMessage& message) override;
  int connections() const override { return static_cast<int>(links_.size()); }
  uint16_t port() const override { return port_; }

  // For links.
  const AgentLimits& limits() const { return limits_; }
  bool Introduce(const std::shared_ptr<Link>& link, const Hello& hello);
  void Heard(const std::string& agent, UpMessage message) {
    listener_->OnAgentMessage(agent, std::move(message));
  }
  void Refuse(const std::string& peer, const std::string& why) {
    listener_->OnAgentRefused(peer, why);
  }
  void Gone(const std::shared_ptr<Link>& link);

 private:
  struct Acceptor {
    explicit Acceptor(boost::asio::io_context& io) : socket(io), pause(io) {}
    boost::asio::basic_socket_acceptor<stream_protocol> socket;
    boost::asio::steady_timer pause;
    std::string unix_path;
    bool tls = false;
  };
  int Strangers() const;
  void Accept(Acceptor& acceptor);
  void Tick();

  boost::asio::io_context& io_;
  std::shared_ptr<TlsContext> tls_;
  AgentLimits limits_;
  std::string gateway_id_;
  AgentListener* listener_;
  boost::asio::steady_timer tick_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::set<std::shared_ptr<Link>> links_;
  std::map<std::string, std::shared_ptr<Link>> by_agent_;
  uint16_t port_ = 0;
};

class Link final : public std::enable_shared_from_this<Link> {
 public:
  Link(stream_protocol::socket socket, std::shared_ptr<TlsContext> tls, std::string peer,
       Server* server)
      : stream_(std::move(socket), std::move(tls)), peer_(std::move(peer)), server_(server) {
    began_ = heard_ = MonotonicNow();
  }

  void Start() {
    if (!stream_.tls()) return Read();
    stream_.Handshake(TlsSide::kServer, [self = shared_from_this()](error_code error) {
      if (self->server_ == nullptr) return;
      if (error) return self->Close("TLS: " + error.message());
      self->Read();
    });
  }

  const std::string& agent() const { return agent_; }
  void set_agent(std::string agent) { agent_ = std::move(agent); }

  void Read() {
    stream_.async_read_some(boost::asio::buffer(in_),
                            [self = shared_from_this()](error_code error, size_t size) {
                              if (self->server_ == nullptr) return;
                              if (error) return self->Close("");
                              self->Take(size);
                            });
  }

  bool Write(std::string frame) {
    if (server_ == nullptr) return false;
    if (out_.size() + frame.size() > server_->limits().out_bytes_max) {
      Close("it does not read what it is sent");
      return false;
    }
    out_ += frame;
    Flush();
    return true;
  }

  void Tick(Instant now) {
    if (server_ == nullptr) return;
    if (agent_.empty() && now - began_ > server_->limits().hello_within) {
      return Close("it has not said who it is in time");
    }
    if (now - heard_ > server_->limits().silence_max) Close("nothing heard for too long");
  }

  // `why`: of a refusal; empty: it went by itself.
  void Close(const std::string& why) {
    if (server_ == nullptr) return;
    Server* server = std::exchange(server_, nullptr);
    error_code ignored;
    stream_.socket().close(ignored);
    if (!why.empty()) server->Refuse(agent_.empty() ? peer_ : agent_, why);
    server->Gone(shared_from_this());
  }
  void Abandon() {
    server_ = nullptr;
    error_code ignored;
    stream_.socket().close(ignored);
  }

 private:
  void Take(size_t size) {
    heard_ = MonotonicNow();
    if (agent_.empty()) {
      stranger_bytes_ += size;
      if (stranger_bytes_ > server_->limits().stranger_bytes_max + kReadBytes) {
        return Close("it does not begin with Hello");
      }
    }
    Status appended = frames_.Append(std::string_view(in_.data(), size));
    std::string payload;
    // What came whole before the broken length still counts.
    while (server_ != nullptr && frames_.Next(&payload)) {
      Result<UpMessage> message = DecodeUp(payload);
      if (!message.ok()) return Close(message.error().message);
      if (agent_.empty()) {
        const Hello* hello = std::get_if<Hello>(&*message);
        if (hello == nullptr) return Close("it does not begin with Hello");
        if (!server_->Introduce(shared_from_this(), *hello)) return;
      }
      server_->Heard(agent_, std::move(*message));
    }
    if (server_ == nullptr) return;
    if (!appended.ok()) return Close(appended.error().message);
    Read();
  }

  void Flush() {
    if (writing_ || out_.empty()) return;
    writing_ = true;
    sending_ = std::exchange(out_, {});
    boost::asio::async_write(stream_, boost::asio::buffer(sending_),
                             [self = shared_from_this()](error_code error, size_t) {
                               self->writing_ = false;
                               if (self->server_ == nullptr) return;
                               if (error) return self->Close("");
                               self->Flush();
                             });
  }

  ByteStream stream_;
  std::string peer_;
  Server* server_;  // none: closed
  std::string agent_;
  std::array<char, kReadBytes> in_{};
  FrameReader frames_;
  std::string out_;
  std::string sending_;
  bool writing_ = false;
  size_t stranger_bytes_ = 0;
  Instant began_;
  Instant heard_;
};

Server::~Server() {
  for (auto& acceptor : acceptors_) {
    if (!acceptor->unix_path.empty()) unlink(acceptor->unix_path.c_str());
  }
  for (const auto& link : links_) link->Abandon();
}

Status Server::Open(const Endpoint& endpoint) {
  if (endpoint.tls && tls_ == nullptr) return ListenError(endpoint, "there is no certificate");
  auto acceptor = std::make_unique<Acceptor>(io_);
  stream_protocol::endpoint address;
  error_code error;
  if (endpoint.unix_socket) {
    struct stat found {};
    if (lstat(endpoint.host.c_str(), &found) == 0) {
      if (!S_ISSOCK(found.st_mode)) return ListenError(endpoint, "the path is taken by a file");
      boost::asio::local::stream_protocol::socket probe(io_);
      probe.connect(endpoint.host, error);
      if (!error) return ListenError(endpoint, "another process serves it");
      unlink(endpoint.host.c_str());
    }
    address = boost::asio::local::stream_protocol::endpoint(endpoint.host);
  } else {
    auto ip = boost::asio::ip::make_address(
        endpoint.host == "localhost" ? "127.0.0.1" : endpoint.host, error);
    if (error) return ListenError(endpoint, "an IP address is expected");
    address = boost::asio::ip::tcp::endpoint(ip, endpoint.port);
  }
  acceptor->socket.open(address.protocol(), error);
  if (error) return ListenError(endpoint, error.message());
  if (endpoint.unix_socket) {
    fchmod(acceptor->socket.native_handle(), 0660);
  } else {
    acceptor->socket.set_option(boost::asio::socket_base::reuse_address(true), error);
  }
  acceptor->socket.bind(address, error);
  if (error) return ListenError(endpoint, error.message());
  acceptor->tls = endpoint.tls;
  if (endpoint.unix_socket) acceptor->unix_path = endpoint.host;
  acceptor->socket.listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) return ListenError(endpoint, error.message());
  if (!endpoint.unix_socket && port_ == 0) {
    auto bound = acceptor->socket.local_endpoint();
    boost::asio::ip::tcp::endpoint tcp;
    std::copy_n(reinterpret_cast<const char*>(bound.data()), bound.size(),
                reinterpret_cast<char*>(tcp.data()));
    port_ = tcp.port();
  }
  Accept(*acceptor);
  acceptors_.push_back(std::move(acceptor));
  return {};
}

void Server::Accept(Acceptor& acceptor) {
  acceptor.socket.async_accept([this, &acceptor](error_code error, stream_protocol::socket socket) {
    if (error == boost::asio::error::operation_aborted) return;
    if (error) {
      // Out of file descriptors: accepting again at once would spin.
      acceptor.pause.expires_after(kAcceptPause);
      acceptor.pause.async_wait([this, &acceptor](error_code cancelled) {
        if (!cancelled) Accept(acceptor);
      });
      return;
    }
    if (connections() >= limits_.connections_max) {
      listener_->OnAgentRefused("new connection", "too many connections");
    } else if (Strangers() >= limits_.strangers_max) {
      listener_->OnAgentRefused("new connection", "too many that have not said who they are");
    } else {
      std::string peer = acceptor.unix_path.empty() ? "tcp" : "unix";
      auto link = std::make_shared<Link>(std::move(socket), acceptor.tls ? tls_ : nullptr,
                                         std::move(peer), this);
      links_.insert(link);
      link->Start();
    }
    Accept(acceptor);
  });
}

int Server::Strangers() const {
  return static_cast<int>(links_.size()) - static_cast<int>(by_agent_.size());
}

bool Server::Introduce(const std::shared_ptr<Link>& link, const Hello& hello) {
  if (hello.protocol != kAgentProtocol || hello.agent_id.empty()) {
    link->Close("it speaks protocol " + std::to_string(hello.protocol) + " as '" + hello.agent_id +
                "'");
    return false;
  }
  auto known = by_agent_.find(hello.agent_id);
  if (known != by_agent_.end()) {
    // It came back before we noticed that it had gone.
    std::shared_ptr<Link> old = known->second;
    links_.erase(old);
    by_agent_.erase(known);
    old->Abandon();
  }
  link->set_agent(hello.agent_id);
  by_agent_[hello.agent_id] = link;
  return Send(hello.agent_id, Welcome{kAgentProtocol, gateway_id_});
}

bool Server::Send(const std::string& agent, const DownMessage& message) {
  auto it = by_agent_.find(agent);
  if (it == by_agent_.end()) return false;
  Result<std::string> frame = EncodeDown(message);
  if (!frame.ok()) return false;
  return it->second->Write(std::move(*frame));
}

void Server::Gone(const std::shared_ptr<Link>& link) {
  links_.erase(link);
  auto it = by_agent_.find(link->agent());
  if (it == by_agent_.end() || it->second != link) return;
  std::string agent = it->first;
  by_agent_.erase(it);
  listener_->OnAgentGone(agent);
}

void Server::Tick() {
  Instant now = MonotonicNow();
  std::set<std::shared_ptr<Link>> links = links_;
  for (const auto& link : links) link->Tick(now);
  tick_.expires_after(kTick);
  tick_.async_wait([this](error_code cancelled) {
    if (!cancelled) Tick();
  });
}

}  // namespace

Result<std::unique_ptr<AgentServer>> AgentServer::Listen(boost::asio::io_context& io,
                                                         const std::vector<Endpoint>& endpoints,
                                                         AgentLimits limits, std::string gateway_id,
                                                         AgentListener* listener,
                                                         std::shared_ptr<TlsContext> tls) {
  auto server =
      std::make_unique<Server>(io, limits, std::move(gateway_id), listener, std::move(tls));
  for (const Endpoint& endpoint : endpoints) TRY(server->Open(endpoint));
  server->Begin();
  return std::unique_ptr<AgentServer>(std::move(server));
}

}  // namespace sentinel
