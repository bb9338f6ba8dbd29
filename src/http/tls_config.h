// [tls] of a daemon's configuration.
#pragma once

#include <memory>
#include <vector>

#include "config/toml_reader.h"
#include "http/message.h"
#include "http/tls.h"

namespace sentinel {

struct TlsConfig {
  TlsFiles files;
  ClientCertificates clients = ClientCertificates::kNone;

  bool operator==(const TlsConfig&) const = default;
};

// What a daemon does with it; both null where nothing is tls:.
struct TlsContexts {
  std::shared_ptr<TlsContext> server;
  std::shared_ptr<TlsContext> client;
};

bool AnyTls(const std::vector<Endpoint>& endpoints);

void ReadTls(TomlReader* reader, TlsConfig* tls);
// Says what is missing for endpoints that begin with tls:.
void CheckTls(TomlReader* reader, const TlsConfig& tls, const std::vector<Endpoint>& served,
              const std::vector<Endpoint>& called);

// Reads the files that are needed.
Result<TlsContexts> OpenTls(const TlsConfig& tls, const std::vector<Endpoint>& served,
                            const std::vector<Endpoint>& called);

}  // namespace sentinel
