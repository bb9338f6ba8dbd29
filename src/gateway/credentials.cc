#include "gateway/credentials.h"

#include <algorithm>
#include <utility>

namespace sentinel {

Result<Credentials> LoadCredentials(const GatewayConfig& config, SampleKey sample_key) {
  Credentials credentials;
  credentials.tls = TRY(OpenTls(config.tls, ServedEndpoints(config), CalledEndpoints(config)));
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
    settings.keys = KeyRing(TRY(LoadKeys(file, sample_key)));
    settings.tls = credentials.tls.client;
    credentials.terminals.push_back(std::move(settings));
  }
  for (const SenderConfig& sender : config.ingest.senders) {
    credentials.senders[sender.name] = KeyRing(TRY(LoadKeys(sender.key_file, sample_key)));
  }
  for (const KeyGrant& grant : config.access.keys) {
    if (grant.key_file.empty()) continue;
    KeyHolder holder;
    holder.keys = KeyRing(TRY(LoadKeys(grant.key_file, sample_key)));
    holder.role = grant.role;
    credentials.operators.push_back(std::move(holder));
  }
  return credentials;
}

}  // namespace sentinel
