// What sentinelctl does: asks, prints, and says how it went by an exit code.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "ctl/gateway_client.h"
#include "ctl/views.h"
#include "http/tls.h"

namespace sentinel {

constexpr int kExitDone = 0;
constexpr int kExitRefused = 1;  // or it knows no such thing
constexpr int kExitCommandWrong = 2;
constexpr int kExitUnreachable = 3;

struct ControlOptions {
  // host[:port], tls:host[:port] or unix:/path; empty: the one of this machine
  std::string gateway;
  std::string key_file;  // a file or folder: requests are signed with its keys
  TlsFiles tls;          // for tls:
  bool json = false;
  bool colour = true;  // where standard output is a terminal and NO_COLOR is not set
  bool english = false;
};

// An event as an existing sender would post it; what is not given is not known and stays away.
struct EventOptions {
  std::string body;  // whole, instead of the rest
  std::string type;
  std::string host;
  std::string rack;
  std::string job;
  std::string state;
  int gpu = -1;
  double util = -1;

  std::string Body() const;
};

// Who runs us, for the gateway's audit trail; "" if that cannot be told.
std::string UserName();

// On standard error, with what to do where that is known. The exit code for it.
int Complain(const Error& error);

class Commands {
 public:
  explicit Commands(const ControlOptions& options);

  using View = std::string (*)(const nlohmann::json&, const ViewStyle&);
  int Show(const std::string& path, const std::string& query, View view);
  // Every change from here on, until interrupted; of one incident, where an id is given. A gateway
  // that goes away for a while is waited for.
  int Watch(const std::string& id);
  int Send(const std::string& event);
  // A command to the gateway; `by` is told to it too.
  int Do(const std::string& path, nlohmann::json body, const std::string& by, View view);
  // Puts a node into the state that `body` says, or every node that fits: where `host` has a `*` or
  // `?`, those that are known (for "in-service": those that are out of it), each by its own name,
  // and told each. None is kExitRefused. One that is refused costs no other its turn; each refusal
  // is told, and the exit code is that of the last. What nobody would be spared (a missing role, a
  // bound, no gateway) ends it: what is done by then stays done, and told.
  int PutNodes(const std::string& host, nlohmann::json body, const std::string& by);

 private:
  Result<GatewayClient> Client() const;
  static Result<std::vector<std::string>> NodesThatFit(GatewayClient& client,
                                                       const std::string& pattern,
                                                       bool out_of_service);

  const ControlOptions options_;
  ViewStyle style_;
};

}  // namespace sentinel
