// A connection's bytes, plain or through TLS: what Asio calls an AsyncReadStream and
// AsyncWriteStream. One read and one write may be under way at a time.
#pragma once

#include <openssl/x509.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "http/tls.h"

namespace sentinel {

enum class TlsSide : bool { kClient, kServer };

class ByteStream {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using executor_type = Socket::executor_type;

  // `tls` null: plain.
  ByteStream(Socket socket, std::shared_ptr<TlsContext> tls)
      : socket_(std::move(socket)), context_(std::move(tls)) {
    if (context_) Renew();
  }
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  executor_type get_executor() { return socket_.get_executor(); }
  Socket& socket() { return socket_; }
  const Socket& socket() const { return socket_; }
  bool tls() const { return context_ != nullptr; }

  // For a socket that is connected anew.
  void Renew() { tls_.emplace(socket_, context_->context()); }
  // Before the handshake of a client: ExpectServer, where names are checked. After one that failed:
  // CertificateRefusal.
  bool Expect(const std::string& host) {
    return !context_->checks_names() || ExpectServer(tls_->native_handle(), host);
  }
  std::string Refusal() { return CertificateRefusal(tls_->native_handle()); }

  template <typename Handler>
  void Handshake(TlsSide side, Handler handler) {
    tls_->async_handshake(side == TlsSide::kServer ? boost::asio::ssl::stream_base::server
                                                   : boost::asio::ssl::stream_base::client,
                          std::move(handler));
  }

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return tls_->async_read_some(buffers, std::forward<Handler>(handler));
    socket_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return tls_->async_write_some(buffers, std::forward<Handler>(handler));
    socket_.async_write_some(buffers, std::forward<Handler>(handler));
  }

  // The common name of the certificate that the other side has shown and proven; "" if none.
  std::string CertificateName() {
    if (!tls_) return "";
    std::unique_ptr<X509, decltype(&X509_free)> shown(
        SSL_get1_peer_certificate(tls_->native_handle()), X509_free);
    if (!shown || SSL_get_verify_result(tls_->native_handle()) != X509_V_OK) return "";
    char name[256] = "";
    int size = X509_NAME_get_text_by_NID(X509_get_subject_name(shown.get()), NID_commonName, name,
                                         sizeof name);
    return size > 0 ? std::string(name, static_cast<size_t>(size)) : "(without a name)";
  }

 private:
  Socket socket_;
  std::shared_ptr<TlsContext> context_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
};

}  // namespace sentinel
