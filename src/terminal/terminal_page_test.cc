// The page, its frames and its sound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "http/test_peer.h"
#include "speech/pcm.h"
#include "terminal/page_feed.h"
#include "terminal/terminal_testing.h"

namespace sentinel {
namespace {

using testing::HasSubstr;

TEST_F(TerminalTest, ServesThePageWithoutAnythingFromElsewhere) {
  Start();
  for (const char* path : {"/", "/terminal.js", "/terminal.css"}) {
    HttpResponse page = Get(path);
    EXPECT_EQ(page.status, 200) << path;
    EXPECT_GT(page.body.size(), 500u) << path;
    EXPECT_THAT(page.headers["Content-Security-Policy"], HasSubstr("default-src 'none'"));
    EXPECT_THAT(page.body, testing::Not(HasSubstr("https://")));
    EXPECT_THAT(page.body, testing::Not(HasSubstr("http://")));
  }
  EXPECT_EQ(Get("/healthz").status, 200);
}

TEST_F(TerminalTest, ThePageIsSentFramesAndWhatIsSaidAndCanFetchTheSound) {
  Start();
  RawClient page(io_, terminal_->port());
  page.Send("GET /api/v1/frames HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::string head = page.ReadUntil("event: frame");
  EXPECT_THAT(head, HasSubstr("text/event-stream"));
  EXPECT_THAT(head, HasSubstr("event: status"));
  Send(P0());
  std::string feed = page.ReadUntil("\"state\":\"ready\"");
  size_t at = feed.find("\"sound\":\"");
  ASSERT_NE(at, std::string::npos);
  at += 9;
  std::string sound = feed.substr(at, feed.find('"', at) - at);
  HttpResponse wav = Get("/api/v1/speech/" + sound + ".wav");
  EXPECT_EQ(wav.status, 200);
  EXPECT_TRUE(ParseWav(wav.body).ok());
  EXPECT_EQ(Get("/api/v1/speech/none-1.wav").status, 404);
  EXPECT_EQ(Get("/api/v1/speech/..%2f..").status, 404);
}

TEST_F(TerminalTest, PagesAreBounded) {
  Start();
  std::vector<std::unique_ptr<RawClient>> pages;
  for (size_t i = 0; i < kPagesMax; i++) {
    pages.push_back(std::make_unique<RawClient>(io_, terminal_->port()));
    pages.back()->Send("GET /api/v1/frames HTTP/1.1\r\nHost: localhost\r\n\r\n");
    pages.back()->ReadUntil("event: status");
  }
  EXPECT_EQ(Get("/api/v1/frames").status, 503);
}

}  // namespace
}  // namespace sentinel
