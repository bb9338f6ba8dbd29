#include "http/server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"
#include "http/connection.h"
#include "http/unix_peer.h"

namespace sentinel {
namespace {

using boost::asio::generic::stream_protocol;
using boost::system::error_code;

// Out of file descriptors: accepting again at once would spin.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);
constexpr Duration kTickMin = std::chrono::milliseconds(5);
constexpr Duration kTickMax = std::chrono::milliseconds(250);

Error ListenError(const Endpoint& endpoint, const std::string& why) {
  return Error{ErrorCode::kUnavailable, "cannot listen on " + endpoint.ToString() + ": " + why};
}

// Removes a socket nobody answers on; refuses to touch anything else.
Status RemoveDeadSocket(const Endpoint& endpoint) {
  struct stat found {};
  if (lstat(endpoint.host.c_str(), &found) != 0) return {};
  if (!S_ISSOCK(found.st_mode)) return ListenError(endpoint, "the path is taken by a file");
  boost::asio::io_context io;
  boost::asio::local::stream_protocol::socket probe(io);
  error_code error;
  probe.open(boost::asio::local::stream_protocol(), error);
  if (!error)
    probe.non_blocking(true, error);  // a live server with a full backlog must not hang us
  if (!error) probe.connect(endpoint.host, error);
  if (error != boost::asio::error::connection_refused) {
    return ListenError(endpoint, error ? error.message() : "another process serves it");
  }
  unlink(endpoint.host.c_str());
  return {};
}

Result<stream_protocol::endpoint> Resolve(boost::asio::io_context& io, const Endpoint& endpoint) {
  if (endpoint.unix_socket) {
    return stream_protocol::endpoint(boost::asio::local::stream_protocol::endpoint(endpoint.host));
  }
  error_code error;
  auto address = boost::asio::ip::make_address(endpoint.host, error);
  if (!error) {
    return stream_protocol::endpoint(boost::asio::ip::tcp::endpoint(address, endpoint.port));
  }
  boost::asio::ip::tcp::resolver resolver(io);
  auto found = resolver.resolve(endpoint.host, std::to_string(endpoint.port),
                                boost::asio::ip::tcp::resolver::passive, error);
  if (error || found.empty()) return ListenError(endpoint, error.message());
  return stream_protocol::endpoint(found.begin()->endpoint());
}

std::string PeerName(stream_protocol::socket& socket, const UnixPeer* unix_peer) {
  if (unix_peer != nullptr) {
    return "unix uid=" + std::to_string(unix_peer->uid) + " pid=" + std::to_string(unix_peer->pid);
  }
  error_code error;
  auto remote = socket.remote_endpoint(error);
  if (error) return "unknown";
  if (remote.protocol().family() == AF_UNIX) return "unix";
  boost::asio::ip::tcp::endpoint address;
  if (remote.size() > address.capacity()) return "unknown";
  std::copy_n(reinterpret_cast<const char*>(remote.data()), remote.size(),
              reinterpret_cast<char*>(address.data()));
  return address.address().to_string();
}

class ServerOnAcceptor final : public HttpServer {
 public:
  ServerOnAcceptor(boost::asio::io_context& io, HttpLimits limits, HttpHandler handler,
                   std::shared_ptr<TlsContext> tls)
      : acceptor_(io), tick_timer_(io), accept_timer_(io) {
    context_->limits = limits;
    context_->handler = std::move(handler);
    context_->tls = std::move(tls);
    Duration shortest = std::min(limits.read_timeout, limits.idle_timeout);
    tick_ = std::clamp(shortest / 8, kTickMin, kTickMax);
  }

  ~ServerOnAcceptor() override {
    Stop();
    *alive_ = false;
    for (const auto& connection : Connections()) connection->Close();
  }

  Status Open(const Endpoint& endpoint) {
    stream_protocol::endpoint address = TRY(Resolve(Io(), endpoint));
    if (endpoint.unix_socket) TRY(RemoveDeadSocket(endpoint));
    error_code error;
    acceptor_.open(address.protocol(), error);
    if (error) return ListenError(endpoint, error.message());
    if (endpoint.unix_socket) {
      // The file takes its mode from the socket's: it is never open to others, not for a moment.
      fchmod(acceptor_.native_handle(), 0660);
    } else {
      acceptor_.set_option(boost::asio::socket_base::reuse_address(true), error);
    }
    acceptor_.bind(address, error);
    if (error) return ListenError(endpoint, error.message());
    if (endpoint.unix_socket) {
      unix_path_ = endpoint.host;
      struct stat made {};
      if (chmod(unix_path_.c_str(), 0660) != 0 || lstat(unix_path_.c_str(), &made) != 0) {
        return ListenError(endpoint, "the socket cannot be given mode 0660");
      }
      unix_inode_ = made.st_ino;
    }
    acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
    if (error) return ListenError(endpoint, error.message());
    if (!endpoint.unix_socket) port_ = BoundPort();
    Accept();
    return {};
  }

  uint16_t port() const override { return port_; }
  int connections() const override { return static_cast<int>(context_->connections.size()); }
  uint64_t connections_refused() const override { return refused_; }

  void Stop() override {
    if (context_->stopping) return;
    context_->stopping = true;
    error_code ignored;
    acceptor_.close(ignored);
    accept_timer_.cancel();
    // Only the file we made: a successor may have replaced it.
    struct stat found {};
    if (!unix_path_.empty() && lstat(unix_path_.c_str(), &found) == 0 &&
        found.st_ino == unix_inode_) {
      unlink(unix_path_.c_str());
    }
    for (const auto& connection : Connections()) connection->CloseIfIdle();
  }

 private:
  boost::asio::io_context& Io() {
    return static_cast<boost::asio::io_context&>(acceptor_.get_executor().context());
  }

  uint16_t BoundPort() {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    CHECK(getsockname(acceptor_.native_handle(), reinterpret_cast<sockaddr*>(&address), &size) ==
          0);
    return ntohs(address.ss_family == AF_INET6
                     ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                     : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  }

  std::vector<std::shared_ptr<Connection>> Connections() const {
    std::vector<std::shared_ptr<Connection>> all;
    all.reserve(context_->connections.size());
    for (const auto& [key, connection] : context_->connections) all.push_back(connection);
    return all;
  }

  void Accept() {
    acceptor_.async_accept(
        [this, alive = alive_](error_code error, stream_protocol::socket socket) {
          if (!*alive || context_->stopping) return;
          if (!error) {
            Admit(std::move(socket));
          } else if (error != boost::asio::error::connection_aborted) {
            return PauseAccepting();
          }
          Accept();
        });
  }

  void PauseAccepting() {
    accept_timer_.expires_after(kAcceptPause);
    accept_timer_.async_wait([this, alive = alive_](error_code error) {
      if (!error && *alive && !context_->stopping) Accept();
    });
  }

  bool HasItsShare(const std::string& peer) const {
    const HttpLimits& limits = context_->limits;
    int share = std::max(1, static_cast<int>(limits.connections_max * limits.peer_share_max));
    if (connections() < share) return false;  // as nearly always: nobody needs to be counted
    auto its = std::count_if(context_->connections.begin(), context_->connections.end(),
                             [&](const auto& entry) { return entry.second->peer() == peer; });
    return its >= share;
  }

  void Admit(stream_protocol::socket socket) {
    if (connections() >= context_->limits.connections_max) {
      ++refused_;
      return;  // closes it
    }
    error_code error;
    socket.non_blocking(true, error);
    if (error) return;
    if (unix_path_.empty()) socket.set_option(boost::asio::ip::tcp::no_delay(true), error);
    std::shared_ptr<const UnixPeer> unix_peer;
    if (!unix_path_.empty()) {
      if (auto known = PeerOf(socket.native_handle())) {
        unix_peer = std::make_shared<const UnixPeer>(std::move(*known));
      }
    }
    std::string peer = PeerName(socket, unix_peer.get());
    if (HasItsShare(peer)) {
      ++refused_;
      return;
    }
    auto connection = std::make_shared<Connection>(std::move(socket), std::move(peer),
                                                   std::move(unix_peer), context_);
    context_->connections.emplace(connection.get(), connection);
    connection->Start();
    if (!ticking_) Tick();
  }

  // One timer looks after every connection's deadlines: re-arming one per request would cost more
  // than many a request. It sleeps while there are no connections.
  void Tick() {
    ticking_ = true;
    tick_timer_.expires_after(tick_);
    tick_timer_.async_wait([this, alive = alive_](error_code error) {
      if (error || !*alive) return;
      Instant now = MonotonicNow();
      for (const auto& connection : Connections()) connection->Tick(now);
      if (context_->connections.empty()) {
        ticking_ = false;
      } else {
        Tick();
      }
    });
  }

  boost::asio::basic_socket_acceptor<stream_protocol, boost::asio::io_context::executor_type>
      acceptor_;
  boost::asio::steady_timer tick_timer_;
  boost::asio::steady_timer accept_timer_;
  std::shared_ptr<ServerContext> context_ = std::make_shared<ServerContext>();
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Duration tick_{0};
  bool ticking_ = false;
  uint16_t port_ = 0;
  std::string unix_path_;
  ino_t unix_inode_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Listen(boost::asio::io_context& io,
                                                       const Endpoint& endpoint, HttpLimits limits,
                                                       HttpHandler handler,
                                                       std::shared_ptr<TlsContext> tls) {
  if (endpoint.tls && tls == nullptr) return ListenError(endpoint, "there is no certificate");
  if (!endpoint.tls) tls = nullptr;
  auto server = std::make_unique<ServerOnAcceptor>(io, limits, std::move(handler), std::move(tls));
  TRY(server->Open(endpoint));
  return std::unique_ptr<HttpServer>(std::move(server));
}

void HttpRouter::Add(std::string method, std::string path, HttpHandler handler) {
  routes_[std::move(path)][std::move(method)] = std::move(handler);
}

std::vector<std::pair<std::string, std::string>> HttpRouter::Served() const {
  std::vector<std::pair<std::string, std::string>> served;
  for (const auto& [path, methods] : routes_) {
    for (const auto& [method, handler] : methods) served.emplace_back(method, path);
  }
  return served;
}

void HttpRouter::operator()(HttpRequest request, std::unique_ptr<HttpResponder> responder) const {
  auto route = routes_.find(request.path);
  if (route == routes_.end()) {
    size_t longest = 0;
    for (auto it = routes_.begin(); it != routes_.end(); ++it) {
      std::string_view prefix = it->first;
      if (!prefix.ends_with('*')) continue;
      prefix.remove_suffix(1);
      if (!request.path.starts_with(prefix) || prefix.size() + 1 <= longest) continue;
      longest = prefix.size() + 1;
      route = it;
    }
  }
  if (route == routes_.end()) return responder->Send(TextResponse(404, "Not Found"));
  auto handler = route->second.find(request.method);
  if (handler == route->second.end() && request.method == "HEAD") {
    handler = route->second.find("GET");
  }
  if (handler != route->second.end()) {
    return handler->second(std::move(request), std::move(responder));
  }
  HttpResponse refusal = TextResponse(405, "Method Not Allowed");
  std::string& allow = refusal.headers["Allow"];
  for (const auto& [method, unused] : route->second) {
    if (!allow.empty()) allow += ", ";
    allow += method;
  }
  responder->Send(std::move(refusal));
}

}  // namespace sentinel
