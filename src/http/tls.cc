#include "http/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/verify_context.hpp>

#include "base/clock.h"
#include "http/key_file.h"

namespace sentinel {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

Error Unusable(const std::string& path, const std::string& why) {
  return {ErrorCode::kInvalidArgument, path + ": " + why};
}

// A host without a battery has every certificate from the future.
bool Acceptable(bool good, ssl::verify_context& verify) {
  if (good) return true;
  int why = X509_STORE_CTX_get_error(verify.native_handle());
  return why == X509_V_ERR_CERT_NOT_YET_VALID && !ClockIsSet(WallNow());
}

}  // namespace

Status TlsContext::UseCertificate(const TlsFiles& files) {
  error_code error;
  context_.use_certificate_chain_file(files.certificate, error);
  if (error) return Unusable(files.certificate, "no certificate in PEM: " + error.message());
  const std::string key = TRY(ReadOwnersFile(files.key));
  context_.use_private_key(boost::asio::buffer(key), ssl::context::pem, error);
  if (error) return Unusable(files.key, "no private key in PEM: " + error.message());
  if (SSL_CTX_check_private_key(context_.native_handle()) != 1) {
    return Unusable(files.key, "it is not the key of " + files.certificate);
  }
  return {};
}

Status TlsContext::TrustOnly(const std::string& ca) {
  error_code error;
  context_.load_verify_file(ca, error);
  if (error) return Unusable(ca, "no CA certificate in PEM: " + error.message());
  context_.set_verify_callback(Acceptable);
  return {};
}

Result<std::shared_ptr<TlsContext>> TlsContext::ForServer(const TlsFiles& files,
                                                          ClientCertificates clients) {
  std::shared_ptr<TlsContext> made(new TlsContext(ssl::context::tls_server));
  SSL_CTX* native = made->context_.native_handle();
  CHECK(SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION) == 1);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  TRY(made->UseCertificate(files));
  switch (clients) {
    case ClientCertificates::kNone:
      made->context_.set_verify_mode(ssl::verify_none);
      return made;
    case ClientCertificates::kOptional:
      made->context_.set_verify_mode(ssl::verify_peer);
      break;
    case ClientCertificates::kRequired:
      made->context_.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
      break;
  }
  // Sessions are resumed only by who has shown a certificate to us, not to a server beside us.
  constexpr unsigned char kSessions[] = "gpu-sentinel";
  SSL_CTX_set_session_id_context(native, kSessions, sizeof kSessions - 1);
  TRY(made->TrustOnly(files.ca));
  return made;
}

Result<std::shared_ptr<TlsContext>> TlsContext::ForClient(const TlsFiles& files) {
  std::shared_ptr<TlsContext> made(new TlsContext(ssl::context::tls_client));
  CHECK(SSL_CTX_set_min_proto_version(made->context_.native_handle(), TLS1_2_VERSION) == 1);
  made->context_.set_verify_mode(ssl::verify_peer);
  TRY(made->TrustOnly(files.ca));
  if (!files.certificate.empty()) TRY(made->UseCertificate(files));
  return made;
}

}  // namespace sentinel
