// All that others prove themselves to the gateway with, and the gateway to them: read whole before
// any of it counts.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "gateway/access.h"
#include "gateway/config.h"
#include "http/key_file.h"
#include "http/tls_config.h"
#include "signal/terminal_driver.h"
#include "signature/key_ring.h"

namespace sentinel {

struct Credentials {
  std::vector<TerminalSettings> terminals;
  std::map<std::string, KeyRing> senders;  // by name
  std::vector<KeyHolder> operators;
  TlsContexts tls;
  std::shared_ptr<TlsContext> agents_tls;  // none: no address for agents begins with tls:
};

// kInvalidArgument, kNotFound or kIo name the file and what is wrong with it.
Result<Credentials> LoadCredentials(const GatewayConfig& config, SampleKey sample_key);

}  // namespace sentinel
