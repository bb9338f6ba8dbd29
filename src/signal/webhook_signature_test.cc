#include "signal/webhook_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr const char* kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

std::string ErrorOf(std::string_view text) {
  auto secrets = ParseWebhookSecrets(text, "hook.secret");
  return secrets.ok() ? "" : secrets.error().message;
}

TEST(WebhookSignature, IsThatOfThePublishedExample) {
  auto secrets = ParseWebhookSecrets(std::string(kSecret) + "\n", "f");
  ASSERT_TRUE(secrets.ok());
  EXPECT_EQ(WebhookSignature(*secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330",
                             R"({"test": 2432232314})"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(WebhookSignature, WhileSecretsChangeEachOfThemSigns) {
  std::string text = "# new\nwhsec_" + Base64Encode(std::string(32, 'n')) + "\r\n\n  # old\n" +
                     std::string(kSecret);
  auto secrets = ParseWebhookSecrets(text, "f");
  ASSERT_TRUE(secrets.ok()) << secrets.error().message;
  ASSERT_THAT(*secrets, SizeIs(2));
  std::string both = WebhookSignature(*secrets, "m", "1", "{}");
  EXPECT_EQ(both, WebhookSignature({secrets->at(0)}, "m", "1", "{}") + " " +
                      WebhookSignature({secrets->at(1)}, "m", "1", "{}"));
}

TEST(WebhookSignature, ASecretThatIsNoneIsRefusedWithItsLineAndNeverShown) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("there is no secret"));
  EXPECT_THAT(ErrorOf("\nsecret"), HasSubstr("hook.secret:2: a secret begins with whsec_"));
  EXPECT_THAT(ErrorOf("whsec_!!!!"), HasSubstr("not base64"));
  std::string shorter = Base64Encode(std::string(23, 'k'));
  EXPECT_THAT(ErrorOf("whsec_" + shorter), HasSubstr("this one 23"));
  EXPECT_THAT(ErrorOf("whsec_" + shorter), Not(HasSubstr(shorter)));
  EXPECT_THAT(ErrorOf("whsec_" + Base64Encode(std::string(65, 'k'))), HasSubstr("this one 65"));
  std::string many;
  for (int i = 0; i < 5; ++i) many += std::string(kSecret) + "\n";
  EXPECT_THAT(ErrorOf(many), HasSubstr("more than 4"));
}

}  // namespace
}  // namespace sentinel
