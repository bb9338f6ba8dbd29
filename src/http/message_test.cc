#include "http/message.h"

#include <gtest/gtest.h>

#include "http/parser.h"
#include "http/serialize.h"

namespace sentinel {
namespace {

TEST(Endpoint, EveryFormIsUnderstood) {
  auto parsed = [](std::string_view text) {
    Result<Endpoint> endpoint = ParseEndpoint(text, 80);
    return endpoint.ok() ? endpoint->ToString() : endpoint.error().message;
  };
  EXPECT_EQ(parsed("hall-1"), "hall-1:80");
  EXPECT_EQ(parsed("10.0.0.7:8090"), "10.0.0.7:8090");
  EXPECT_EQ(parsed("[::1]:8090"), "[::1]:8090");
  EXPECT_EQ(parsed("[fe80::1]"), "[fe80::1]:80");
  EXPECT_EQ(parsed("unix:/run/x.sock"), "unix:/run/x.sock");
  EXPECT_EQ(parsed("127.0.0.1:0"), "127.0.0.1:0");
}

TEST(Endpoint, WhatIsNoAddressIsRefusedInWords) {
  for (std::string text : {"", ":80", "h:", "h:x", "h:65536", "h:-1", "h:80x", "::1", "[::1",
                           "[::1]8", "unix:", "a b", "user@host", "http://h"}) {
    Result<Endpoint> endpoint = ParseEndpoint(text, 80);
    ASSERT_FALSE(endpoint.ok()) << text;
    EXPECT_EQ(endpoint.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(ParseEndpoint("unix:/" + std::string(108, 'x'), 80).ok());
}

TEST(HttpRequest, HeadersAreFoundInAnyCase) {
  HttpRequest request;
  request.headers["X-API-Key"] = "k";
  EXPECT_EQ(request.Header("x-api-key"), "k");
  EXPECT_EQ(request.Header("X-Api-Keys"), "");
}

TEST(Serialize, AValueNeverMakesAHeaderOfItsOwn) {
  HttpResponse response = TextResponse(200, "x");
  response.headers["X-A"] = "1\r\nX-Evil: 2";
  std::string bytes;
  AppendResponse(response, BodyFraming::kLength, ConnectionFate::kKeep, "d", &bytes);
  EXPECT_EQ(bytes.find("\nX-Evil"), std::string::npos);
  HttpRequest request;
  request.method = "GET";
  request.path = "/ HTTP/1.1\r\nX-Evil: 1";
  EXPECT_EQ(SerializeRequest(request, "h").find("\nX-Evil"), std::string::npos);
}

HttpRequest ParsedWhole(std::string_view bytes, size_t step) {
  RequestParser parser({8192, 65536});
  std::string buffer;
  for (size_t at = 0; at < bytes.size(); at += step) {
    buffer += bytes.substr(at, step);
    size_t consumed = 0;
    ParseState state = parser.Feed(buffer, &consumed);
    buffer.erase(0, consumed);
    if (state == ParseState::kDone) {
      EXPECT_EQ(buffer, "");
      return parser.Take();
    }
    EXPECT_EQ(state, ParseState::kMore);
  }
  ADD_FAILURE() << "not whole";
  return {};
}

TEST(RequestParser, ARequestInPiecesOfAnySizeIsTheSameRequest) {
  std::string plain =
      "POST /a/b?x=1&y HTTP/1.1\r\nHost: h\r\nX-Two: a\r\nContent-Length: 5\r\nx-two: "
      "b\r\n\r\nhello";
  std::string chunked =
      "POST /a/b?x=1&y HTTP/1.1\r\nHost: h\r\nX-Two: a\r\nTransfer-Encoding: chunked\r\n"
      "x-two: b\r\n\r\n2;ext=1\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
  std::string absolute =
      "POST http://proxy:80/a/b?x=1&y HTTP/1.1\r\nX-Two: a\r\nContent-Length: 5\r\nx-two: "
      "b\r\n\r\nhello";
  for (const std::string& bytes : {plain, chunked, absolute}) {
    for (size_t step : {1, 2, 3, 7, 64, 4096}) {
      HttpRequest request = ParsedWhole(bytes, step);
      EXPECT_EQ(request.method, "POST");
      EXPECT_EQ(request.path, "/a/b");
      EXPECT_EQ(request.query, "x=1&y");
      EXPECT_EQ(request.Header("X-Two"), "a, b");
      EXPECT_EQ(request.body, "hello");
    }
  }
}

TEST(RequestParser, LengthAndChunksTogetherAreRefused) {
  RequestParser parser({8192, 65536});
  size_t consumed = 0;
  EXPECT_EQ(
      parser.Feed("POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
                  &consumed),
      ParseState::kBad);
}

TEST(ResponseParser, InterimAnswersAreSkipped) {
  ResponseParser parser({8192, 100}, false);
  size_t consumed = 0;
  std::string bytes = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  ASSERT_EQ(parser.Feed(bytes, &consumed), ParseState::kDone);
  HttpResponse response = parser.Take();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "ok");
}

}  // namespace
}  // namespace sentinel
