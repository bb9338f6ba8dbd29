// TLS 1.2 and later.
//
// Between our own programs: certificates of the site's own CA and of nobody else. Who speaks to a
// server asks whether its certificate is of that CA and for servers, not for which name it is:
// terminals are known by addresses that change (docs/decisions/tls-with-a-site-ca.md). A receiver
// that is no program of ours is believed under its name alone.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "base/result.h"

namespace sentinel {

struct TlsFiles {
  std::string certificate;  // PEM, with what lies between it and the CA
  std::string key;          // PEM, its owner's alone
  std::string ca;           // PEM

  bool operator==(const TlsFiles&) const = default;
};

enum class ClientCertificates : uint8_t {
  kNone,      // not asked for
  kOptional,  // asked for: one that is shown must be of our CA
  kRequired,
};

class TlsContext {
 public:
  // kDenied if the key can be read by others; kInvalidArgument with the file and what is wrong.
  static Result<std::shared_ptr<TlsContext>> ForServer(const TlsFiles& files,
                                                       ClientCertificates clients);
  // Shows a certificate if it has one.
  static Result<std::shared_ptr<TlsContext>> ForClient(const TlsFiles& files);
  // For servers that are known by their names: a certificate counts if it bears the name or address
  // that is called and is of a CA in `ca` (PEM), or stands there itself, or, where that is empty,
  // is of a CA that this host trusts. Shows none itself. kInvalidArgument with the file and what is
  // wrong.
  static Result<std::shared_ptr<TlsContext>> ForNamedServers(const std::string& ca);

  bool checks_names() const { return checks_names_; }
  boost::asio::ssl::context& context() { return context_; }

 private:
  explicit TlsContext(boost::asio::ssl::context::method method) : context_(method) {}

  Status UseCertificate(const TlsFiles& files);
  Status TrustOnly(const std::string& ca);

  boost::asio::ssl::context context_;
  bool checks_names_ = false;
};

// Before the handshake of a client: it asks for this host (SNI; not for an address), and fails
// unless the certificate bears it. False where no certificate could.
bool ExpectServer(SSL* session, std::string host);

// After a handshake that failed: why the other side's certificate was not taken; "" if that was not
// it.
std::string CertificateRefusal(SSL* session);

}  // namespace sentinel
