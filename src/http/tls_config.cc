#include "http/tls_config.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace sentinel {

bool AnyTls(const std::vector<Endpoint>& endpoints) {
  return std::any_of(endpoints.begin(), endpoints.end(), [](const Endpoint& e) { return e.tls; });
}

void ReadTls(TomlReader* reader, TlsConfig* tls) {
  reader->Section("tls", [tls](TomlReader& table) {
    const auto file = [&table](std::string_view key, std::string* path) {
      table.AbsolutePath(key, path);
      table.Look(key, *path);
    };
    file("certificate", &tls->files.certificate);
    file("key", &tls->files.key);
    file("ca", &tls->files.ca);
    table.Choice<ClientCertificates>("clients",
                                     {{"none", ClientCertificates::kNone},
                                      {"optional", ClientCertificates::kOptional},
                                      {"required", ClientCertificates::kRequired}},
                                     &tls->clients);
    if (tls->files.certificate.empty() != tls->files.key.empty()) {
      table.Conflict(tls->files.key.empty() ? "certificate" : "key",
                     "certificate and key go together");
    }
    if (tls->clients != ClientCertificates::kNone && tls->files.ca.empty()) {
      table.Wrong("clients", "their certificates need a ca to be held against");
    }
  });
}

void CheckTls(TomlReader* reader, const TlsConfig& tls, const std::vector<Endpoint>& served,
              const std::vector<Endpoint>& called) {
  if (AnyTls(served) && tls.files.certificate.empty()) {
    reader->Wrong("tls",
                  "an address with tls: to be listened on needs tls.certificate and tls.key; make "
                  "them with: sentinelctl ca issue");
  }
  if (AnyTls(called) && tls.files.ca.empty()) {
    reader->Wrong("tls", "an address with tls: to be called needs tls.ca: who is believed there");
  }
}

Result<TlsContexts> OpenTls(const TlsConfig& tls, const std::vector<Endpoint>& served,
                            const std::vector<Endpoint>& called) {
  TlsContexts contexts;
  if (AnyTls(served)) contexts.server = TRY(TlsContext::ForServer(tls.files, tls.clients));
  if (AnyTls(called)) contexts.client = TRY(TlsContext::ForClient(tls.files));
  return contexts;
}

}  // namespace sentinel
