#include "signature/signature_v1.h"

#include <gtest/gtest.h>

#include <string>

#include "signature/signature_testing.h"

namespace sentinel {
namespace {

constexpr char kTimestamp[] = "1795996334";
constexpr char kSignature[] = "d1aa293780f63fb5c4d2554d2ca90e260a79de23556dafb9963aaef4b6808b5a";

WallTime At(int64_t unix_seconds, int64_t millis = 0) {
  return {std::chrono::seconds(unix_seconds) + std::chrono::milliseconds(millis)};
}

TEST(SignatureV1, TheContractsCheckValueHolds) {
  EXPECT_EQ(SignV1(kExampleSecret, kTimestamp, kExampleBody), kSignature);
  EXPECT_TRUE(VerifyV1(kExampleSecret, kTimestamp, kExampleBody, kSignature, At(1795996334)).ok());
}

TEST(SignatureV1, ASignatureHoldsForThirtySecondsEachWay) {
  auto accepted = [](WallTime now) {
    return VerifyV1(kExampleSecret, kTimestamp, kExampleBody, kSignature, now).ok();
  };
  EXPECT_TRUE(accepted(At(1795996334 + 30, 999)));
  EXPECT_TRUE(accepted(At(1795996334 - 30)));
  EXPECT_FALSE(accepted(At(1795996334 + 31)));
  EXPECT_FALSE(accepted(At(1795996334 - 31, 999)));
}

TEST(SignatureV1, AnythingChangedIsDenied) {
  WallTime now = At(1795996334);
  std::string body = kExampleBody;
  body[9] ^= 1;
  for (const Status& status :
       {VerifyV1("other", kTimestamp, kExampleBody, kSignature, now),
        VerifyV1(kExampleSecret, kTimestamp, body, kSignature, now),
        VerifyV1(kExampleSecret, "1795996335", kExampleBody, kSignature, now),
        VerifyV1(kExampleSecret, kTimestamp, kExampleBody, "", now),
        VerifyV1(kExampleSecret, kTimestamp, kExampleBody, std::string(kSignature).substr(1),
                 now)}) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kDenied);
  }
}

TEST(SignatureV1, ATimestampThatIsNotDecimalSecondsIsDeniedThoughSigned) {
  for (const char* timestamp : {"", "-1", "+1795996334", " 1795996334", "1795996334.0",
                                "1795996334000", "0x6b0", "99999999999999999999"}) {
    std::string signature = SignV1(kExampleSecret, timestamp, kExampleBody);
    EXPECT_FALSE(VerifyV1(kExampleSecret, timestamp, kExampleBody, signature, At(1795996334)).ok())
        << timestamp;
  }
}

}  // namespace
}  // namespace sentinel
