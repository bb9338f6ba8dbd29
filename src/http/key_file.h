// The key and secret that a gateway and its terminals share, from a file only its owner can read.
//
//   key = "hall-1"
//   secret = "…"
#pragma once

#include <string>

#include "base/result.h"

namespace sentinel {

struct KeyPair {
  std::string key;     // X-API-Key: a name, not a secret
  std::string secret;  // of the HMAC

  bool operator==(const KeyPair&) const = default;
};

// The key and secret of the published example are known to everybody.
enum class SampleKey { kRefused, kAllowed };

// kDenied if the file is readable by group or others (a credential that systemd hands over may be
// readable by its group), belongs to somebody else, or holds the published sample key or secret
// where that is refused; kNotFound, kIo, kInvalidArgument with file:line:column otherwise.
Result<KeyPair> LoadKeyFile(const std::string& path, SampleKey sample);

// The text of a file of secrets, at most 4 KiB, under the same rules about who may read it.
Result<std::string> ReadOwnersFile(const std::string& path);

}  // namespace sentinel
