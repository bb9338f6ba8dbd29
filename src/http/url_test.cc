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
}

TEST(HttpUrl, WhatIsNoneIsRefusedWithWhatIsExpected) {
  for (const char* text :
       {"", "am.site:9093", "https://am.site/", "http://", "http:///x", "http://user:secret@host/",
        "http://host:99999/", "http://host:0/", "http://host/a b", "http://host/\r\nX: y",
        "http://host/#part", "http://unix:/run/x", "http://höst/"}) {
    Result<HttpUrl> url = ParseHttpUrl(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_THAT(url.error().message, HasSubstr("expected")) << text;
  }
}

}  // namespace
}  // namespace sentinel
