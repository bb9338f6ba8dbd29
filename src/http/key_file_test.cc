#include "http/key_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/time.h"
#include "http/key_files.h"

namespace sentinel {
namespace {

using testing::HasSubstr;

class KeyFileTest : public testing::Test {
 protected:
  KeyFileTest() {
    char name[] = "/tmp/sentinel-key-XXXXXX";
    int fd = mkstemp(name);
    EXPECT_GE(fd, 0);
    close(fd);
    path_ = name;
  }
  ~KeyFileTest() override { unlink(path_.c_str()); }

  Result<KeyPair> Load(const std::string& text, mode_t mode = 0600,
                       SampleKey sample = SampleKey::kRefused) {
    int fd = open(path_.c_str(), O_WRONLY | O_TRUNC);
    EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(fd);
    EXPECT_EQ(chmod(path_.c_str(), mode), 0);
    return LoadKeyFile(path_, sample);
  }
  Error Refusal(const std::string& text, mode_t mode = 0600) {
    Result<KeyPair> loaded = Load(text, mode);
    EXPECT_FALSE(loaded.ok()) << text;
    return loaded.ok() ? Error{ErrorCode::kIo, ""} : loaded.error();
  }

  std::string path_;
};

constexpr char kGood[] = "# ours\nkey = \"hall-1\"\nsecret = \"s\\u00e9cret # 1\"\n";

TEST_F(KeyFileTest, KeyAndSecretAreRead) {
  Result<KeyPair> pair = Load(kGood);
  ASSERT_TRUE(pair.ok()) << pair.error().message;
  EXPECT_EQ(pair->key, "hall-1");
  EXPECT_EQ(pair->secret, "sécret # 1");
  EXPECT_TRUE(Load(kGood, 0400).ok());
}

TEST_F(KeyFileTest, AFileThatOthersCanReadIsRefused) {
  for (mode_t mode : {0640, 0604, 0660, 0644, 0620}) {
    Error error = Refusal(kGood, mode);
    EXPECT_EQ(error.code, ErrorCode::kDenied);
    EXPECT_THAT(error.message, HasSubstr("chmod 600"));
  }
}

TEST_F(KeyFileTest, ACredentialOfSystemdMayShowItsAclAsGroupBits) {
  setenv("CREDENTIALS_DIRECTORY", "/tmp", 1);
  EXPECT_TRUE(Load(kGood, 0440).ok());
  EXPECT_FALSE(Load(kGood, 0444).ok());
  unsetenv("CREDENTIALS_DIRECTORY");
  EXPECT_FALSE(Load(kGood, 0440).ok());
}

TEST_F(KeyFileTest, ThePublishedSampleIsRefusedOutsideADemo) {
  std::string sample_key = "key = \"gpu_cluster_sentinel\"\nsecret = \"mine\"\n";
  std::string sample_secret = "key = \"mine\"\nsecret = \"AI#TrainSecureHMACSecretKey2026\"\n";
  for (const std::string& text : {sample_key, sample_secret}) {
    EXPECT_EQ(Refusal(text).code, ErrorCode::kDenied);
    EXPECT_TRUE(Load(text, 0600, SampleKey::kAllowed).ok());
  }
}

TEST_F(KeyFileTest, AKeyHasItsTimesAndMayBeRevoked) {
  std::string text = std::string(kGood) +
                     "not_before = \"2026-08-17T08:30:00Z\"\n"
                     "not_after = \"2026-08-18T08:30:00+08:00\"\n";
  Result<KeyPair> pair = Load(text);
  ASSERT_TRUE(pair.ok()) << pair.error().message;
  EXPECT_EQ(FormatRfc3339(*pair->not_before), "2026-08-17T08:30:00.000Z");
  EXPECT_EQ(FormatRfc3339(*pair->not_after), "2026-08-18T00:30:00.000Z");
  Error revoked = Refusal("key = \"a\"\nrevoked_at = \"2026-08-17T08:30:00Z\"\n");
  EXPECT_EQ(revoked.code, ErrorCode::kDenied);
  EXPECT_THAT(revoked.message, HasSubstr("revoked"));
}

TEST_F(KeyFileTest, FilesAreReadAgainWhenToldAndWhatCannotBeReadChangesNothing) {
  ASSERT_TRUE(Load(kGood).ok());
  KeyFiles files(SampleKey::kRefused);
  Result<KeyRing> ring = files.Open(path_);
  ASSERT_TRUE(ring.ok());
  KeyRing copy = *ring;
  ASSERT_TRUE(Load("key = \"next\"\nsecret = \"n\"\n").ok());
  ASSERT_TRUE(files.Reload().ok());
  EXPECT_EQ(copy.all().at(0).key, "next");
  ASSERT_FALSE(Load("key = ").ok());
  EXPECT_FALSE(files.Reload().ok());
  EXPECT_EQ(copy.all().at(0).key, "next");
  EXPECT_EQ(files.Open(path_)->all().at(0).key, "next");
}

TEST_F(KeyFileTest, ARevokedKeyIsForgottenAlsoWhereItWasTheOnlyOne) {
  ASSERT_TRUE(Load(kGood).ok());
  KeyFiles files(SampleKey::kRefused);
  Result<KeyRing> ring = files.Open(path_);
  ASSERT_TRUE(ring.ok());
  EXPECT_FALSE(Load("key = \"hall-1\"\nrevoked_at = \"2026-08-17T08:30:00Z\"\n").ok());
  EXPECT_TRUE(files.Reload().ok());
  EXPECT_TRUE(ring->empty());
  Result<KeyRing> started = KeyFiles(SampleKey::kRefused).Open(path_);
  ASSERT_TRUE(started.ok()) << started.error().message;
  EXPECT_TRUE(started->empty());
}

TEST_F(KeyFileTest, WhoseItIsIsSaidWhereItIsSomebodyElses) {
  ASSERT_TRUE(Load(kGood).ok());
  if (chown(path_.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs root";
  const auto loaded = LoadKeyFile(path_, SampleKey::kRefused);
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.error().message, HasSubstr("uid 65534"));
}

TEST_F(KeyFileTest, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_THAT(Refusal("key = \"a\"\nsecret = \"b\"\nscret = \"c\"\n").message,
              HasSubstr(path_ + ":3:"));
  EXPECT_THAT(Refusal("key = \"a\"\nsecret = 7\n").message, HasSubstr(path_ + ":2:"));
  EXPECT_THAT(Refusal("key = \"a\nsecret").message, HasSubstr(path_ + ":1:"));
  EXPECT_THAT(Refusal("key = \"a\"\n").message, HasSubstr("secret is missing"));
  EXPECT_THAT(Refusal("secret = \"a\"\n").message, HasSubstr("key is missing"));
  EXPECT_THAT(Refusal("key = \"a\"\nsecret = \"b\"\nnot_after = \"soon\"\n").message,
              HasSubstr(path_ + ":3:"));
  EXPECT_THAT(Refusal("key = \"a b\"\nsecret = \"x\"\n").message, HasSubstr("printable"));
  EXPECT_THAT(Refusal(std::string(20'000, '#')).message, HasSubstr("too long"));
  EXPECT_EQ(LoadKeyFile("/nonexistent/key", SampleKey::kRefused).error().code,
            ErrorCode::kNotFound);
  EXPECT_EQ(LoadKeyFile("/tmp", SampleKey::kRefused).error().code, ErrorCode::kDenied);
}

}  // namespace
}  // namespace sentinel
