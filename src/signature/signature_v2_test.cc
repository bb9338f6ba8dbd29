#include "signature/signature_v2.h"

#include <gtest/gtest.h>

#include <string>

#include "base/digest.h"
#include "signature/signature_testing.h"

namespace sentinel {
namespace {

constexpr char kBodyHash[] = "00c5035a19dfb2a3814bb6eecde1a0cdd893d9869fda6f25115ea5d8e64d64e7";

SignedParts Hang() {
  SignedParts parts;
  parts.method = "POST";
  parts.target = "/api/v1/send_msg";
  parts.audience = "hall-1";
  parts.stamp_ms = "1795996334250";
  parts.nonce = "AAECAwQFBgcICQoLDA0ODw";
  parts.body_sha256 = kBodyHash;
  parts.fields = {{"x-boot-id", "c5f90462b2a1e07d"},
                  {"x-incident-id", "3f9c0a4b7d21e658"},
                  {"x-message-id", "m-1"},
                  {"x-sequence", "4"},
                  {"x-severity", "P0"}};
  return parts;
}

TEST(SignatureV2, TheRequestsCheckValuesHold) {
  EXPECT_EQ(Sha256Hex(kExampleBody), kBodyHash);
  SignedParts parts = Hang();
  EXPECT_EQ(RequestToSign(parts, kExampleKeyId),
            "GS2\nPOST\n/api/v1/send_msg\nhall-1\ngpu_cluster_sentinel\n1795996334250\n"
            "AAECAwQFBgcICQoLDA0ODw\n"
            "00c5035a19dfb2a3814bb6eecde1a0cdd893d9869fda6f25115ea5d8e64d64e7\n"
            "x-boot-id:c5f90462b2a1e07d\nx-incident-id:3f9c0a4b7d21e658\nx-message-id:m-1\n"
            "x-sequence:4\nx-severity:P0");
  EXPECT_EQ(HmacSha256Hex(kExampleSecret, RequestToSign(parts, kExampleKeyId)),
            "808f66a4d6c37558b5174395440ba704266dcdaa2412fd6f35f508b1545623cf");
  parts.fields.clear();
  EXPECT_EQ(HmacSha256Hex(kExampleSecret, RequestToSign(parts, kExampleKeyId)),
            "fc469e105e9722c8fb8ed9b3e69ad81c263f924d35354df9dad92f89e1c9a4dd");
}

TEST(SignatureV2, TheAnswersCheckValueHolds) {
  AnswerParts answer;
  answer.method = "POST";
  answer.target = "/api/v1/send_msg";
  answer.audience = "hall-1";
  answer.nonce = "AAECAwQFBgcICQoLDA0ODw";
  answer.message_id = "m-1";
  answer.status = 200;
  const std::string hash = Sha256Hex(R"({"id":"m-1","state":"playing","muted_until_at":null})");
  answer.body_sha256 = hash;
  EXPECT_EQ(HmacSha256Hex(kExampleSecret, AnswerToSign(answer, kExampleKeyId)),
            "5daf9a6df29a4914a15f1932c7ece07afc5c18e12d7937fbcaa03699cd2be20f");
}

TEST(SignatureV2, EveryPartChangesWhatIsSigned) {
  const std::string whole = RequestToSign(Hang(), kExampleKeyId);
  EXPECT_NE(RequestToSign(Hang(), "other"), whole);
  const auto changed = [&](auto change) {
    SignedParts parts = Hang();
    change(&parts);
    return RequestToSign(parts, kExampleKeyId) != whole;
  };
  EXPECT_TRUE(changed([](SignedParts* p) { p->method = "GET"; }));
  EXPECT_TRUE(changed([](SignedParts* p) { p->target = "/api/v1/ack"; }));
  EXPECT_TRUE(changed([](SignedParts* p) { p->audience = "hall-2"; }));
  EXPECT_TRUE(changed([](SignedParts* p) { p->stamp_ms = "1795996334251"; }));
  EXPECT_TRUE(changed([](SignedParts* p) { p->nonce = "BAECAwQFBgcICQoLDA0ODw"; }));
  EXPECT_TRUE(changed([](SignedParts* p) { p->body_sha256 = "00"; }));
  EXPECT_TRUE(changed([](SignedParts* p) { p->fields[4].value = "NOTICE"; }));
  EXPECT_TRUE(changed([](SignedParts* p) { p->fields.pop_back(); }));
  EXPECT_TRUE(changed([](SignedParts* p) { p->fields.push_back({"x-zone", ""}); }));
}

TEST(SignatureV2, SignaturesReadBackTheSame) {
  const std::string hex(64, 'a');
  const std::string text = WriteSignatures({{"old", hex}, {"new", std::string(64, '0')}});
  EXPECT_EQ(text, "kid=old;v=2;sig=" + hex + ",kid=new;v=2;sig=" + std::string(64, '0'));
  auto parsed = ParseSignatures(text);
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ((*parsed)[1].key_id, "new");
  EXPECT_EQ((*parsed)[0].hex, hex);
}

TEST(SignatureV2, WhatIsNoSignatureHeaderIsRefused) {
  const std::string hex(64, 'a');
  const std::string one = "kid=a;v=2;sig=" + hex;
  std::string many = one;
  for (size_t i = 0; i < kSignaturesMax; ++i) many += "," + one;
  const std::string cases[] = {"",
                               hex,
                               one + ",",
                               "," + one,
                               one + " ",
                               "kid=;v=2;sig=" + hex,
                               "kid=a;v=1;sig=" + hex,
                               "kid=a;v=2;sig=" + hex + "0",
                               "kid=a;v=2;sig=" + hex.substr(1),
                               "kid=a;v=2;sig=" + std::string(64, 'A'),
                               "kid=a b;v=2;sig=" + hex,
                               "kid=" + std::string(200, 'k') + ";v=2;sig=" + hex,
                               many};
  for (const std::string& text : cases) EXPECT_FALSE(ParseSignatures(text).ok()) << text;
}

TEST(SignatureV2, CoveredFieldsAreNamedOnceInOrderAndAreNotTheSignaturesOwn) {
  auto names = ParseCovered("x-message-id;x-severity");
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(*names, (std::vector<std::string>{"x-message-id", "x-severity"}));
  EXPECT_TRUE(ParseCovered("").ok());
  std::string many;
  for (size_t i = 0; i <= kCoveredFieldsMax; ++i) {
    many += (i == 0 ? "x-" : ";x-") + std::to_string(100 + i);
  }
  for (const std::string& text :
       {std::string("X-Severity"), std::string("x-severity;x-message-id"),
        std::string("x-severity;x-severity"), std::string("content-type"), std::string("x-nonce"),
        std::string("x-severity;"), std::string(";x-severity"), std::string("x-severity;;x-z"),
        std::string("x-a b"), many}) {
    EXPECT_FALSE(ParseCovered(text).ok()) << text;
  }
}

}  // namespace
}  // namespace sentinel
