// One question to a gateway's API, and its answer. Blocks until it is there.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "http/message.h"

namespace sentinel {

class GatewayClient {
 public:
  static constexpr uint16_t kPort = 8080;  // where a gateway listens unless it is told otherwise

  explicit GatewayClient(Endpoint gateway) : gateway_(std::move(gateway)) {}

  // What stands where nothing is said: its socket on this machine if there is one, else its port.
  static Endpoint Here();

  // kUnavailable and kTimeout: no answer; kNotFound: it knows no such thing; kInvalidArgument: it
  // refuses, in its words; kCorrupt: what answers is no gateway.
  Result<nlohmann::json> Get(const std::string& path, const std::string& query = "");
  Result<nlohmann::json> Post(const std::string& path, const std::string& body);

 private:
  Result<nlohmann::json> Ask(HttpRequest request);

  Endpoint gateway_;
};

}  // namespace sentinel
