#include "http/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sentinel {
namespace {

using testing::HasSubstr;

TEST(HttpUrl, IsTakenApart) {
  HttpUrl url = *ParseHttpUrl("http://am.site:9093/alerts/x?a=1&b=2");
  EXPECT_EQ(url.endpoint.ToString(), "am.site:9093");
  EXPECT_EQ(url.path, "/alerts/x");
  EXPECT_EQ(url.query, "a=1&b=2");
  EXPECT_EQ(url.ToString(), "http://am.site:9093/alerts/x?a=1&b=2");
  EXPECT_EQ(ParseHttpUrl("http://10.0.0.1")->ToString(), "http://10.0.0.1:80/");
  EXPECT_EQ(ParseHttpUrl("http://[::1]:81?x")->ToString(), "http://[::1]:81/?x");
  EXPECT_FALSE(url.endpoint.tls);
}

TEST(HttpUrl, HttpsIsTlsOnItsOwnPort) {
  HttpUrl url = *ParseHttpUrl("https://chat.example/hook?team=gpu");
  EXPECT_TRUE(url.endpoint.tls);
  EXPECT_EQ(url.endpoint.host, "chat.example");
  EXPECT_EQ(url.endpoint.port, 443);
  EXPECT_EQ(url.path, "/hook");
  EXPECT_EQ(url.ToString(), "https://chat.example:443/hook?team=gpu");
  EXPECT_EQ(ParseHttpUrl("https://[::1]:8443")->ToString(), "https://[::1]:8443/");
}

TEST(HttpUrl, APasswordIsRefusedAndNotSaidAgain) {
  const std::string said = ParseHttpUrl("https://me:swordfish@chat.example/in").error().message;
  EXPECT_THAT(said, HasSubstr("a user and a password have no place in it"));
  EXPECT_THAT(said, testing::Not(HasSubstr("swordfish")));
}

TEST(HttpUrl, WhatIsNoneIsRefusedWithWhatIsExpected) {
  for (const char* text :
       {"", "am.site:9093", "ftp://am.site/", "HTTPS//am", "https://", "http://tls:am.site:81/",
        "https://tls:am.site/", "http://", "http:///x", "http://user:secret@host/",
        "http://host:99999/", "http://host:0/", "http://host/a b", "http://host/\r\nX: y",
        "http://host/#part", "http://unix:/run/x", "http://höst/"}) {
    Result<HttpUrl> url = ParseHttpUrl(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_THAT(url.error().message, HasSubstr("expected")) << text;
  }
}

}  // namespace
}  // namespace sentinel
