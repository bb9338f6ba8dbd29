#include "gateway/credentials.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "gateway/log_value.h"

namespace sentinel {
namespace {

// A gateway whose keys are all revoked or over serves everybody else, and says who is not.
Result<KeyRing> OpenKeys(const std::string& path, SampleKey sample_key) {
  KeyRing keys(TRY(LoadKeys(path, sample_key)));
  if (keys.Active(WallNow()).empty()) {
    spdlog::warn(
        "event=no_valid_key path={} what=\"its keys are revoked, over or not yet valid: nothing is "
        "signed or believed with them\"",
        LogValue(path));
  }
  return keys;
}

}  // namespace

Result<Credentials> LoadCredentials(const GatewayConfig& config, SampleKey sample_key) {
  Credentials credentials;
  credentials.tls = TRY(OpenTls(config.tls, ServedEndpoints(config), CalledEndpoints(config)));
  // What an agent says rings: unlike a sender of events it has no other way to show who it is.
  if (AnyTls(config.agents)) {
    credentials.agents_tls =
        TRY(TlsContext::ForServer(config.tls.files, ClientCertificates::kRequired));
  }
  // Also where no terminal uses it yet: a key that cannot be read is found now, not with the first.
  if (!config.key_file.empty()) TRY(LoadKeys(config.key_file, sample_key));
  for (const TerminalConfig& terminal : config.terminals) {
    TerminalSettings settings;
    settings.name = terminal.name;
    settings.endpoint = terminal.address;
    settings.signature = terminal.signature;
    settings.attempt_timeout = config.delivery.attempt_timeout;
    settings.connect_timeout = std::min(settings.connect_timeout, settings.attempt_timeout);
    const std::string& file = terminal.key_file.empty() ? config.key_file : terminal.key_file;
    settings.keys = TRY(OpenKeys(file, sample_key));
    settings.tls = credentials.tls.client;
    credentials.terminals.push_back(std::move(settings));
  }
  for (const SenderConfig& sender : config.ingest.senders) {
    credentials.senders[sender.name] = TRY(OpenKeys(sender.key_file, sample_key));
  }
  for (const KeyGrant& grant : config.access.keys) {
    if (grant.key_file.empty()) continue;
    KeyHolder holder;
    holder.keys = TRY(OpenKeys(grant.key_file, sample_key));
    holder.role = grant.role;
    credentials.operators.push_back(std::move(holder));
  }
  return credentials;
}

}  // namespace sentinel
