// One question to a gateway's API, and its answer. Blocks until it is there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "http/message.h"
#include "http/tls.h"
#include "signature/key_ring.h"

namespace sentinel {

// Whether a gateway can have answered that request with that: an object with the field that each of
// its answers there has. Fields are only ever added, so this is true of every version; a server of
// another kind that answers JSON to everything has not done what it was asked to.
bool IsAnswerTo(std::string_view method, std::string_view path, const nlohmann::json& answer);

class GatewayClient {
 public:
  static constexpr uint16_t kPort = 8080;  // where a gateway listens unless it is told otherwise

  // With keys, requests are signed (v2) and answers believed only if they are, too. `tls` is for a
  // gateway at tls:.
  explicit GatewayClient(Endpoint gateway, KeyRing keys = {}, std::shared_ptr<TlsContext> tls = {})
      : gateway_(std::move(gateway)), keys_(std::move(keys)), tls_(std::move(tls)) {}

  // What stands where nothing is said: its socket on this machine if there is one, else its port.
  static Endpoint Here();

  // kUnavailable and kTimeout: no answer; kNotFound: it knows no such thing; kDenied: not from
  // you; kExhausted: not while things are so (a bound); kInvalidArgument: it refuses, in its words;
  // kCorrupt: what answers is no gateway.
  Result<nlohmann::json> Get(const std::string& path, const std::string& query = "");
  Result<nlohmann::json> Post(const std::string& path, const std::string& body);

 private:
  Result<nlohmann::json> Ask(HttpRequest request);

  Endpoint gateway_;
  KeyRing keys_;
  std::shared_ptr<TlsContext> tls_;
};

}  // namespace sentinel
