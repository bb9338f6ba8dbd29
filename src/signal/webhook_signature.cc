#include "signal/webhook_signature.h"

#include <optional>

#include "base/base64.h"
#include "base/digest.h"

namespace sentinel {
namespace {

constexpr std::string_view kPrefix = "whsec_";

std::string_view Trimmed(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  size_t first = line.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlank) - first + 1);
}

}  // namespace

Result<std::vector<std::string>> ParseWebhookSecrets(std::string_view text,
                                                     const std::string& file) {
  std::vector<std::string> secrets;
  int number = 0;
  auto wrong = [&](const std::string& why) {
    return Error{ErrorCode::kInvalidArgument,
                 file + ":" + std::to_string(number) + ": " + why +
                     "; make a secret with: echo whsec_$(openssl rand -base64 32)"};
  };
  while (!text.empty()) {
    ++number;
    size_t end = text.find('\n');
    std::string_view line = Trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty() || line.front() == '#') continue;
    if (!line.starts_with(kPrefix)) return wrong("a secret begins with whsec_");
    std::optional<std::string> secret = Base64Decode(line.substr(kPrefix.size()));
    if (!secret) return wrong("what follows whsec_ is not base64");
    if (secret->size() < kWebhookSecretBytesMin || secret->size() > kWebhookSecretBytesMax) {
      return wrong("a secret has 24 to 64 bytes, this one " + std::to_string(secret->size()));
    }
    if (secrets.size() == kWebhookSecretsMax) return wrong("more than 4 secrets; drop old ones");
    secrets.push_back(std::move(*secret));
  }
  if (secrets.empty()) return wrong("there is no secret in it");
  return secrets;
}

std::string WebhookSignature(const std::vector<std::string>& secrets, std::string_view id,
                             std::string_view timestamp, std::string_view body) {
  std::string signed_text;
  signed_text.reserve(id.size() + timestamp.size() + body.size() + 2);
  signed_text.append(id).append(".").append(timestamp).append(".").append(body);
  std::string header;
  for (const std::string& secret : secrets) {
    if (!header.empty()) header += ' ';
    header += "v1," + Base64Encode(HmacSha256(secret, signed_text));
  }
  return header;
}

}  // namespace sentinel
