#include "ctl/certificate_authority.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include <boost/asio/ip/address.hpp>

#include "ctl/private_file.h"
#include "http/key_file.h"

namespace sentinel {
namespace {

constexpr size_t kNameCharsMax = 64;  // of a common name (RFC 5280)
constexpr size_t kHostsMax = 64;
constexpr int kSerialBytes = 16;
constexpr std::chrono::days kValidMax{36'500};
// Hosts whose clocks are a little behind believe it at once.
constexpr std::chrono::hours kBackdated{1};

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* thing) const {
    kFree(thing);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Memory = std::unique_ptr<BIO, Freed<BIO_free_all>>;

struct Identity {
  Certificate certificate;
  Key key;
};

Error Crypto(const std::string& what) {
  char words[256] = "no reason given";
  if (unsigned long code = ERR_get_error(); code != 0)
    ERR_error_string_n(code, words, sizeof words);
  ERR_clear_error();
  return {ErrorCode::kIo, what + ": " + words};
}
Error Wrong(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= kNameCharsMax && name[0] != '.' && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

// What is all digits and dots is an address that was mistyped: nobody is called so.
bool IsDnsName(const std::string& name) {
  return name.find_first_not_of("0123456789.") != std::string::npos && name.size() <= 253 &&
         name.front() != '.' && name.back() != '.' &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return isalnum(c) || c == '-' || c == '.'; });
}

// "DNS:a,IP:10.0.0.1", as the library reads it: only what is a name or an address gets there.
Result<std::string> AlternativeNames(const std::vector<std::string>& hosts) {
  if (hosts.size() > kHostsMax)
    return Wrong("more than 64 names and addresses for one certificate");
  std::string text;
  for (const std::string& host : hosts) {
    boost::system::error_code no_address;
    boost::asio::ip::make_address(host, no_address);
    if (no_address && !IsDnsName(host)) {
      return Wrong("'" + host + "' is neither a host name nor an address");
    }
    text += (text.empty() ? "" : ",") + std::string(no_address ? "DNS:" : "IP:") + host;
  }
  return text;
}

Status Extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return Crypto("certificate extension " + value);
  }
  return {};
}

Status SetTime(ASN1_TIME* field, std::chrono::milliseconds since_epoch) {
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count();
  if (ASN1_TIME_set(field, static_cast<time_t>(seconds)) == nullptr) return Crypto("validity");
  return {};
}

// A certificate with a key of its own, its name and validity, not yet extended or signed.
Result<Identity> Draft(const std::string& name, std::chrono::days valid, WallTime now) {
  if (valid < std::chrono::days(1) || valid > kValidMax)
    return Wrong("it is valid 1 to 36500 days");
  Identity draft;
  draft.key.reset(EVP_EC_gen("P-256"));
  draft.certificate.reset(X509_new());
  if (!draft.key || !draft.certificate) return Crypto("a key");
  X509* certificate = draft.certificate.get();
  std::array<unsigned char, kSerialBytes> chance{};
  if (RAND_bytes(chance.data(), kSerialBytes) != 1) return Crypto("a serial number");
  chance[0] &= 0x7f;  // it is a positive number
  std::unique_ptr<BIGNUM, Freed<BN_free>> serial(BN_bin2bn(chance.data(), kSerialBytes, nullptr));
  X509_NAME* subject = X509_get_subject_name(certificate);
  bool done =
      serial && BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr &&
      X509_set_version(certificate, 2) == 1 && X509_set_pubkey(certificate, draft.key.get()) == 1 &&
      X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                 0) == 1;
  if (!done) return Crypto("a certificate for " + name);
  TRY(SetTime(X509_getm_notBefore(certificate), now.since_epoch - kBackdated));
  TRY(SetTime(X509_getm_notAfter(certificate), now.since_epoch + valid));
  return draft;
}

Status Sign(X509* certificate, const X509* issuer, EVP_PKEY* key) {
  if (X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) != 1)
    return Crypto("issuer");
  if (X509_sign(certificate, key, EVP_sha256()) == 0) return Crypto("signing");
  return {};
}

Result<std::string> TextOf(const Memory& memory, bool written) {
  char* bytes = nullptr;
  long size = BIO_get_mem_data(memory.get(), &bytes);
  if (!written || size <= 0) return Crypto("PEM");
  return std::string(bytes, static_cast<size_t>(size));
}
Result<std::string> PemOf(X509* certificate) {
  Memory memory(BIO_new(BIO_s_mem()));
  return TextOf(memory, PEM_write_bio_X509(memory.get(), certificate) == 1);
}
Result<std::string> PemOf(EVP_PKEY* key) {
  Memory memory(BIO_new(BIO_s_mem()));
  return TextOf(memory, PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr,
                                                 nullptr) == 1);
}

Status WriteIdentity(const Identity& identity, const IssuedFiles& files) {
  const std::string certificate = TRY(PemOf(identity.certificate.get()));
  const std::string key = TRY(PemOf(identity.key.get()));
  // The key first: a certificate whose key is missing looks finished.
  TRY(WritePrivateFile(files.key, key, Replace::kNo));
  Status written = WritePrivateFile(files.certificate, certificate, Replace::kNo);
  // Beside a certificate that was there it would pass for that one's, and the daemon would not
  // start.
  if (!written.ok()) unlink(files.key.c_str());
  return written;
}

IssuedFiles FilesIn(const std::string& folder, const std::string& name) {
  return {folder + "/" + name + ".crt", folder + "/" + name + ".key"};
}

Result<Identity> ReadIdentity(const std::string& folder) {
  const IssuedFiles files = FilesIn(folder, "ca");
  const std::string key = TRY(ReadOwnersFile(files.key));
  std::ifstream stream(files.certificate);
  const std::string certificate{std::istreambuf_iterator<char>(stream), {}};
  Identity identity;
  Memory key_memory(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())));
  Memory memory(BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size())));
  identity.key.reset(PEM_read_bio_PrivateKey(key_memory.get(), nullptr, nullptr, nullptr));
  identity.certificate.reset(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
  if (!identity.key || !identity.certificate) return Crypto(folder + " holds no CA");
  if (X509_check_private_key(identity.certificate.get(), identity.key.get()) != 1) {
    return Crypto(files.key + " is not the key of " + files.certificate);
  }
  return identity;
}

const char* ExtendedUse(CertificateUse use) {
  switch (use) {
    case CertificateUse::kServer:
      return "serverAuth";
    case CertificateUse::kClient:
      return "clientAuth";
    case CertificateUse::kBoth:
      return "serverAuth,clientAuth";
  }
  return "";
}

}  // namespace

Status CertificateAuthority::Init(const std::string& folder, const std::string& name,
                                  std::chrono::days valid, WallTime now) {
  if (!IsName(name))
    return Wrong("'" + name + "' is no name for a CA: 1 to 64 letters, digits, - _ .");
  TRY(MakePrivateFolder(folder));
  Identity ca = TRY(Draft(name, valid, now));
  X509* certificate = ca.certificate.get();
  TRY(Extend(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  TRY(Extend(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign"));
  TRY(Extend(certificate, certificate, NID_subject_key_identifier, "hash"));
  TRY(Sign(certificate, certificate, ca.key.get()));
  TRY(WriteIdentity(ca, FilesIn(folder, "ca")));
  // In a folder of another user's root would make a CA that it does not believe afterwards.
  const Result<Identity> usable = ReadIdentity(folder);
  if (usable.ok()) return {};
  for (const std::string& file : {FilesIn(folder, "ca").key, FilesIn(folder, "ca").certificate}) {
    unlink(file.c_str());
  }
  return usable.error();
}

Result<IssuedFiles> CertificateAuthority::Issue(const CertificateRequest& request,
                                                const std::string& out, WallTime now) const {
  if (!IsName(request.name) || request.name == "ca") {
    return Wrong("'" + request.name +
                 "' is no name for a certificate: 1 to 64 letters, digits, - _ .");
  }
  const std::string hosts = TRY(AlternativeNames(request.hosts));
  if (hosts.empty() && request.use != CertificateUse::kClient) {
    return Wrong("a server's certificate needs the names or addresses it is reached by");
  }
  const Identity ca = TRY(ReadIdentity(folder_));
  TRY(MakePrivateFolder(out));
  Identity made = TRY(Draft(request.name, request.valid, now));
  X509* certificate = made.certificate.get();
  X509* issuer = ca.certificate.get();
  // Nothing outlives who vouches for it.
  if (ASN1_TIME_compare(X509_get0_notAfter(certificate), X509_get0_notAfter(issuer)) > 0) {
    if (X509_set1_notAfter(certificate, X509_get0_notAfter(issuer)) != 1) return Crypto("validity");
  }
  TRY(Extend(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE"));
  TRY(Extend(certificate, issuer, NID_key_usage, "critical,digitalSignature"));
  TRY(Extend(certificate, issuer, NID_ext_key_usage, ExtendedUse(request.use)));
  TRY(Extend(certificate, issuer, NID_subject_key_identifier, "hash"));
  TRY(Extend(certificate, issuer, NID_authority_key_identifier, "keyid:always"));
  if (!hosts.empty()) TRY(Extend(certificate, issuer, NID_subject_alt_name, hosts));
  TRY(Sign(certificate, issuer, ca.key.get()));
  IssuedFiles files = FilesIn(out, request.name);
  TRY(WriteIdentity(made, files));
  return files;
}

}  // namespace sentinel
