// The signature of Standard Webhooks: HMAC-SHA256 over id, time and body, so that a receiver knows
// who speaks, that nothing was changed, and what it has heard before. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sentinel {

constexpr size_t kWebhookSecretBytesMin = 24;
constexpr size_t kWebhookSecretBytesMax = 64;
// Beyond, a file of secrets is refused: two are a rotation, more are forgotten ones.
constexpr size_t kWebhookSecretsMax = 4;

// The secrets of a file, as bytes: one a line, `whsec_` and base64 of 24 to 64 bytes. Blank lines
// and those that begin with '#' say nothing. kInvalidArgument names the line, never the secret.
Result<std::vector<std::string>> ParseWebhookSecrets(std::string_view text,
                                                     const std::string& file);

// The header webhook-signature: one `v1,<base64>` for each secret, so that a receiver that knows
// any of them is content while they are changed.
std::string WebhookSignature(const std::vector<std::string>& secrets, std::string_view id,
                             std::string_view timestamp, std::string_view body);

}  // namespace sentinel
