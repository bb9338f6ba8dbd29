#include "http/name_lookup.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http/client.h"
#include "http/server.h"
#include "http/test_peer.h"

namespace sentinel {
namespace {

using boost::asio::ip::address_v4;

LookedUp Loopback() {
  std::vector<boost::asio::ip::address> addresses;
  addresses.emplace_back(address_v4::loopback());
  return addresses;
}

// What the threads of the lookups share with the test; a thread may outlive it.
struct NameServers {
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  std::atomic<int> asked{0};
};

class NameLookupTest : public testing::Test {
 protected:
  NameLookupTest() {
    NameLookups::Of(*io_).AskInstead([servers = servers_](const std::string& host) -> LookedUp {
      ++servers->asked;
      if (host.starts_with("stuck")) servers->open.wait();
      if (host == "unknown") return Error{ErrorCode::kUnavailable, "nobody is called so"};
      return Loopback();
    });
  }
  ~NameLookupTest() override { Open(); }

  void Open() {
    if (!std::exchange(opened_, true)) servers_->gate.set_value();
  }
  void LookUp(const std::string& host, std::optional<LookedUp>* found) {
    NameLookups::Of(*io_).LookUp(host, [found](const LookedUp& result) { *found = result; });
    EXPECT_FALSE(found->has_value());  // never from within the call
  }

  std::shared_ptr<NameServers> servers_ = std::make_shared<NameServers>();
  bool opened_ = false;
  std::unique_ptr<boost::asio::io_context> io_ = std::make_unique<boost::asio::io_context>();
};

TEST_F(NameLookupTest, ANameThatIsNotAnsweredHoldsUpNoOther) {
  std::optional<LookedUp> stuck;
  std::optional<LookedUp> lamp;
  LookUp("stuck", &stuck);
  LookUp("lamp", &lamp);
  ASSERT_TRUE(RunUntil(*io_, [&] { return lamp.has_value(); }));
  ASSERT_TRUE(lamp->ok());
  EXPECT_TRUE((*lamp)->front().is_loopback());
  EXPECT_FALSE(stuck.has_value());
  Open();
  ASSERT_TRUE(RunUntil(*io_, [&] { return stuck.has_value(); }));
  EXPECT_TRUE(stuck->ok());
}

TEST_F(NameLookupTest, ARequestToALampArrivesWhileTheNameOfAReceiverIsNotAnswered) {
  auto server =
      HttpServer::Listen(*io_, Endpoint{.host = "127.0.0.1", .port = 0}, HttpLimits{},
                         [](const HttpRequest&, std::unique_ptr<HttpResponder> responder) {
                           responder->Send(TextResponse(200, "lit"));
                         });
  ASSERT_TRUE(server.ok());
  HttpRequestOptions options;
  options.timeout = std::chrono::seconds(8);
  HttpRequest request;
  request.method = "POST";
  request.path = "/";
  Endpoint receiver{.host = "stuck.example", .port = 80};
  Endpoint lamp{.host = "lamp", .port = (*server)->port()};
  std::optional<HttpOutcome> told;
  std::optional<HttpOutcome> lit;
  HttpFetch(*io_, receiver, request, options, [&](HttpOutcome outcome) { told = outcome; });
  HttpFetch(*io_, lamp, request, options, [&](HttpOutcome outcome) { lit = outcome; });
  ASSERT_TRUE(RunUntil(*io_, [&] { return lit.has_value(); }));
  ASSERT_TRUE(lit->response.ok());
  EXPECT_EQ(lit->response->status, 200);
  EXPECT_FALSE(told.has_value());
}

TEST_F(NameLookupTest, ARequestGivesUpInItsTimeThoughItsNameIsNotAnswered) {
  HttpRequestOptions options;
  options.timeout = std::chrono::milliseconds(40);
  std::optional<HttpOutcome> outcome;
  HttpFetch(*io_, Endpoint{.host = "stuck", .port = 80}, HttpRequest{}, options,
            [&](HttpOutcome done) { outcome = std::move(done); });
  ASSERT_TRUE(RunUntil(*io_, [&] { return outcome.has_value(); }));
  ASSERT_FALSE(outcome->response.ok());
  EXPECT_EQ(outcome->response.error().code, ErrorCode::kTimeout);
}

TEST_F(NameLookupTest, WhoAsksForTheSameNameSharesOneLookup) {
  std::optional<LookedUp> first;
  std::optional<LookedUp> second;
  LookUp("stuck", &first);
  LookUp("stuck", &second);
  Open();
  ASSERT_TRUE(RunUntil(*io_, [&] { return first.has_value() && second.has_value(); }));
  EXPECT_EQ(servers_->asked, 1);
}

TEST_F(NameLookupTest, WhatTheResolverSaysIsPassedOn) {
  std::optional<LookedUp> found;
  LookUp("unknown", &found);
  ASSERT_TRUE(RunUntil(*io_, [&] { return found.has_value(); }));
  ASSERT_FALSE(found->ok());
  EXPECT_EQ(found->error().message, "nobody is called so");
}

TEST_F(NameLookupTest, BeyondItsBoundsANameIsRefusedAndLaterLookedUpAgain) {
  std::vector<std::optional<LookedUp>> waiting(kLookupsMax + kLookupWaitersMax);
  for (size_t i = 0; i < kLookupsMax; ++i) LookUp("stuck" + std::to_string(i), &waiting[i]);
  std::optional<LookedUp> one_more;
  LookUp("lamp", &one_more);
  ASSERT_TRUE(RunUntil(*io_, [&] { return one_more.has_value(); }));
  EXPECT_FALSE(one_more->ok());

  for (size_t i = 1; i < kLookupWaitersMax; ++i) LookUp("stuck0", &waiting[kLookupsMax + i]);
  std::optional<LookedUp> one_waiter_more;
  LookUp("stuck0", &one_waiter_more);
  ASSERT_TRUE(RunUntil(*io_, [&] { return one_waiter_more.has_value(); }));
  EXPECT_FALSE(one_waiter_more->ok());

  Open();
  ASSERT_TRUE(RunUntil(*io_, [&] {
    for (size_t i = 0; i < kLookupsMax; ++i) {
      if (!waiting[i].has_value()) return false;
    }
    return true;
  }));
  std::optional<LookedUp> again;
  LookUp("lamp", &again);
  ASSERT_TRUE(RunUntil(*io_, [&] { return again.has_value(); }));
  EXPECT_TRUE(again->ok());
}

TEST_F(NameLookupTest, TheLoopMayGoWhileANameIsLookedUp) {
  std::optional<LookedUp> found;
  LookUp("stuck", &found);
  io_.reset();
  Open();
  EXPECT_FALSE(found.has_value());
}

TEST_F(NameLookupTest, TheLoopHasWorkWhileSomebodyWaits) {
  std::optional<LookedUp> found;
  LookUp("lamp", &found);
  io_->run();
  EXPECT_TRUE(found.has_value());
}

}  // namespace
}  // namespace sentinel
