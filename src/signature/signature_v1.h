// Signature v1: time and body, as existing senders and terminals have it (shared contract, section
// 4). It covers neither path nor headers, so it is believed only where nothing depends on them.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace sentinel {

// Lower-case hex HMAC-SHA256(secret, timestamp + "\n" + body).
std::string SignV1(std::string_view secret, std::string_view timestamp, std::string_view body);

// Whether `signature` signs these bytes and `timestamp` (decimal Unix seconds) is within ±30 s of
// now. kDenied if not. Constant time in the secret.
Status VerifyV1(std::string_view secret, std::string_view timestamp, std::string_view body,
                std::string_view signature, WallTime now);

}  // namespace sentinel
