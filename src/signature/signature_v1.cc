#include "signature/signature_v1.h"

#include <charconv>
#include <chrono>

#include "base/digest.h"

namespace sentinel {
namespace {

constexpr std::chrono::seconds kClockSkewMax{30};

int64_t WholeSeconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.since_epoch).count();
}

}  // namespace

std::string SignV1(std::string_view secret, std::string_view timestamp, std::string_view body) {
  std::string bytes;
  bytes.reserve(timestamp.size() + 1 + body.size());
  bytes += timestamp;
  bytes += '\n';
  bytes += body;
  return HmacSha256Hex(secret, bytes);
}

Status VerifyV1(std::string_view secret, std::string_view timestamp, std::string_view body,
                std::string_view signature, WallTime now) {
  int64_t signed_at = 0;
  const char* end = timestamp.data() + timestamp.size();
  auto [stop, error] = std::from_chars(timestamp.data(), end, signed_at);
  bool decimal = error == std::errc() && stop == end && signed_at >= 0 &&
                 timestamp.find_first_not_of("0123456789") == std::string_view::npos;
  // The signature first: who does not know the secret learns nothing about our clock.
  bool authentic = ConstantTimeEqual(SignV1(secret, timestamp, body), signature);
  if (!authentic) return Error{ErrorCode::kDenied, "the signature does not match"};
  // Both ends speak in whole seconds, so they are compared in whole seconds.
  int64_t here = WholeSeconds(now);
  if (!decimal || signed_at < here - kClockSkewMax.count() ||
      signed_at > here + kClockSkewMax.count()) {
    return Error{ErrorCode::kDenied, "the timestamp is not within 30 s of this clock"};
  }
  return {};
}

}  // namespace sentinel
