// Who may post events: whoever is on this host, and elsewhere who signs with a sender's key or has
// shown a certificate of ours.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/time.h"
#include "http/message.h"
#include "signature/key_ring.h"

namespace sentinel {

// Whose events are taken without a proof of who sends them.
enum class OpenTo : uint8_t {
  kNobody,    // but the Unix socket
  kLoopback,  // and programs of this host
  kNetwork,   // everybody who can reach us
};

class Admission {
 public:
  // `senders`: keys by the sender's name.
  Admission(OpenTo open, std::map<std::string, KeyRing> senders);

  // Nothing if the request may post events; else 401 for one who has not shown who he is, 403 for
  // one who has and is no sender.
  std::optional<HttpResponse> Refusal(const HttpRequest& request, WallTime now) const;

 private:
  OpenTo open_;
  std::map<std::string, KeyRing> senders_;
};

}  // namespace sentinel
