// SHA-256 and HMAC-SHA256 as lower-case hex, and a comparison that takes the same time whatever
// differs.
#pragma once

#include <string>
#include <string_view>

namespace sentinel {

std::string Sha256Hex(std::string_view bytes);
// 32 bytes.
std::string HmacSha256(std::string_view key, std::string_view bytes);
std::string HmacSha256Hex(std::string_view key, std::string_view bytes);

// True if equal. Its duration depends on the lengths alone.
bool ConstantTimeEqual(std::string_view a, std::string_view b);

}  // namespace sentinel
