#include "http/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

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

// A clock that is not set is no excuse here: nobody dies of a chat message that comes when it is.
Result<std::shared_ptr<TlsContext>> TlsContext::ForNamedServers(const std::string& ca) {
  std::shared_ptr<TlsContext> made(new TlsContext(ssl::context::tls_client));
  CHECK(SSL_CTX_set_min_proto_version(made->context_.native_handle(), TLS1_2_VERSION) == 1);
  made->context_.set_verify_mode(ssl::verify_peer);
  made->checks_names_ = true;
  error_code error;
  if (ca.empty()) {
    made->context_.set_default_verify_paths(error);
    if (error) return Unusable("the host's CA certificates", error.message());
  } else {
    made->context_.load_verify_file(ca, error);
    if (error) return Unusable(ca, "no CA certificate in PEM: " + error.message());
    // What is named there is the end of a chain: a company's CA below another, a receiver alone.
    X509_VERIFY_PARAM* trust = SSL_CTX_get0_param(made->context_.native_handle());
    CHECK(X509_VERIFY_PARAM_set_flags(trust, X509_V_FLAG_PARTIAL_CHAIN) == 1);
  }
  return made;
}

bool ExpectServer(SSL* session, std::string host) {
  // OpenSSL takes a name with a dot before it for whatever lies below it.
  if (host.starts_with('.')) return false;
  if (host.ends_with('.')) host.pop_back();  // the root; no certificate has it
  X509_VERIFY_PARAM* expected = SSL_get0_param(session);
  // Without the interface of ours that may stand behind it: fe80::1%eno1.
  const std::string address = host.substr(0, host.find('%'));
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, address.c_str()) == 1) return true;
  // As RFC 9525 has it: names are where they belong, and a '*' is a whole label.
  X509_VERIFY_PARAM_set_hostflags(
      expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return !host.empty() && X509_VERIFY_PARAM_set1_host(expected, host.data(), host.size()) == 1 &&
         SSL_set_tlsext_host_name(session, host.c_str()) == 1;
}

std::string CertificateRefusal(SSL* session) {
  const long why = SSL_get_verify_result(session);
  if (why == X509_V_OK) return "";
  const std::string words = X509_verify_cert_error_string(why);
  switch (why) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "its certificate does not bear the name or address that is called (" + words + ")";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return "its certificate is of no CA that is trusted here (" + words + ")";
    default:
      return "its certificate is not taken (" + words + ")";
  }
}

}  // namespace sentinel
