#include "signal/post_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/clock.h"
#include "http/server.h"
#include "http/test_peer.h"
#include "signal/webhook_signature.h"

namespace sentinel {
namespace {

using testing::HasSubstr;

class PostDriverTest : public testing::Test {
 protected:
  PostDriverTest() {
    Endpoint any{"127.0.0.1", 0, false};
    auto server =
        HttpServer::Listen(io_, any, HttpLimits{}, [this](HttpRequest asked, auto answer) {
          request_ = std::move(asked);
          if (response_) {
            answer->Send(*response_);
          } else {
            silent_.push_back(std::move(answer));
          }
        });
    EXPECT_TRUE(server.ok());
    server_ = std::move(server).value();
    settings_.url =
        *ParseHttpUrl("http://127.0.0.1:" + std::to_string(server_->port()) + "/in?k=1");
    settings_.secrets = {std::string(32, 's')};
    settings_.attempt_timeout = std::chrono::milliseconds(100);
  }

  SendResult Send() {
    PostDriver driver(io_, settings_, [](const Notification& n) { return "{\"" + n.id + "\":1}"; });
    Notification notification;
    notification.id = "msg_1";
    std::optional<SendResult> result;
    driver.Send(notification, [&](SendResult sent) { result = std::move(sent); });
    RunUntil(io_, [&] { return result.has_value(); });
    return result.value_or(SendResult{});
  }

  boost::asio::io_context io_;
  std::unique_ptr<HttpServer> server_;
  PostSettings settings_;
  std::optional<HttpResponse> response_ = TextResponse(204, "");
  std::vector<std::unique_ptr<HttpResponder>> silent_;
  HttpRequest request_;
};

TEST_F(PostDriverTest, TheBodyArrivesWithASignatureThatVerifies) {
  EXPECT_EQ(Send().outcome, SendOutcome::kDelivered);
  EXPECT_EQ(request_.path, "/in");
  EXPECT_EQ(request_.query, "k=1");
  EXPECT_EQ(request_.body, R"({"msg_1":1})");
  EXPECT_EQ(request_.Header("Content-Type"), "application/json");
  EXPECT_EQ(request_.Header("webhook-id"), "msg_1");
  EXPECT_NEAR(std::stod(std::string(request_.Header("webhook-timestamp"))),
              static_cast<double>(WallNow().since_epoch.count()) / 1000.0, 5.0);
  EXPECT_EQ(request_.Header("webhook-signature"),
            WebhookSignature(settings_.secrets, "msg_1", request_.Header("webhook-timestamp"),
                             request_.body));
}

TEST_F(PostDriverTest, WithoutASecretNothingIsSigned) {
  settings_.secrets.clear();
  EXPECT_EQ(Send().outcome, SendOutcome::kDelivered);
  EXPECT_EQ(request_.headers.count("webhook-signature"), 0u);
}

TEST_F(PostDriverTest, Only2xxIsSuccessAndARedirectIsNot) {
  for (int status : {200, 201, 202, 204, 299}) {
    response_->status = status;
    EXPECT_EQ(Send().outcome, SendOutcome::kDelivered) << status;
  }
  for (int status : {301, 302, 307, 404, 405, 408, 410, 429, 500, 502, 503}) {
    response_->status = status;
    response_->headers["Location"] = "/elsewhere";
    SendResult result = Send();
    EXPECT_EQ(result.outcome, SendOutcome::kUnavailable) << status;
    EXPECT_EQ(result.status, status);
    EXPECT_EQ(request_.path, "/in");
    EXPECT_THAT(result.error, HasSubstr(std::to_string(status)));
  }
  response_->status = 400;
  EXPECT_EQ(Send().outcome, SendOutcome::kRejected);
}

TEST_F(PostDriverTest, AReceiversWishToWaitIsRead) {
  response_->status = 429;
  response_->headers["Retry-After"] = "7";
  EXPECT_EQ(Send().retry_after, std::chrono::seconds(7));
}

TEST_F(PostDriverTest, SilenceIsTriedAgainAndNeverUnconfirmed) {
  response_.reset();
  SendResult result = Send();
  EXPECT_EQ(result.outcome, SendOutcome::kUnavailable);
  EXPECT_EQ(result.status, 0);
}

}  // namespace
}  // namespace sentinel
