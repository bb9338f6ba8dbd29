#include "http/tls.h"

#include <gtest/gtest.h>
#include <openssl/x509_vfy.h>

#include <memory>
#include <string>

namespace sentinel {
namespace {

// What a client of named servers asks for and compares, before it has said a word.
class ExpectServerTest : public testing::Test {
 protected:
  ExpectServerTest() : context_(*TlsContext::ForNamedServers("")) {}

  bool Expect(const std::string& host) {
    session_.reset(SSL_new(context_->context().native_handle()));
    return ExpectServer(session_.get(), host);
  }
  std::string asked_for() const {
    const char* name = SSL_get_servername(session_.get(), TLSEXT_NAMETYPE_host_name);
    return name == nullptr ? "" : name;
  }
  std::string compared() const {
    const char* name = X509_VERIFY_PARAM_get0_host(SSL_get0_param(session_.get()), 0);
    return name == nullptr ? "" : name;
  }

 private:
  std::shared_ptr<TlsContext> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> session_{nullptr, SSL_free};
};

TEST_F(ExpectServerTest, ANameIsAskedForAndComparedWithoutTheRoot) {
  EXPECT_TRUE(Expect("chat.example."));
  EXPECT_EQ(asked_for(), "chat.example");
  EXPECT_EQ(compared(), "chat.example");
}

TEST_F(ExpectServerTest, AnAddressIsNoName) {
  for (const char* address : {"192.0.2.7", "2001:db8::7", "fe80::7%eth0"}) {
    EXPECT_TRUE(Expect(address)) << address;
    EXPECT_EQ(asked_for(), "") << address;
    EXPECT_EQ(compared(), "") << address;
  }
}

TEST_F(ExpectServerTest, WhatWouldFitManyNamesOrNoneIsRefused) {
  EXPECT_FALSE(Expect(""));
  EXPECT_FALSE(Expect("."));
  EXPECT_FALSE(Expect(".example"));
}

}  // namespace
}  // namespace sentinel
