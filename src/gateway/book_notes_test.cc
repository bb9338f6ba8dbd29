#include "gateway/book_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include <boost/asio/io_context.hpp>

#include "base/clock.h"
#include "base/testing_folder.h"
#include "gateway/gateway.h"

namespace sentinel {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

// Of a gateway whose quiet hours ended a moment ago, by the clock of this host.
class MorningNote : public testing::Test {
 protected:
  MorningNote() {
    config_ = DefaultGatewayConfig();
    config_.listen = {{"127.0.0.1", 0, false}};
    config_.agents = {{"127.0.0.1", 0, false}};
    config_.state_dir = folder_.path();
    const WallTime now = WallNow();
    constexpr minutes kDay = hours(24);
    config_.quiet_until =
        std::chrono::floor<minutes>((now.since_epoch + CivilOffset(now)) % milliseconds(kDay));
    config_.quiet_from = (config_.quiet_until + kDay - minutes(90)) % kDay;
  }

  std::unique_ptr<Store> Open() {
    StoreOptions options;
    options.path = folder_.path() / "sentinel.db";
    auto store = Store::Open(io_, options);
    EXPECT_TRUE(store.ok()) << store.error().message;
    return std::move(*store);
  }
  // The note after a gateway that found this one has come and gone; "" finds none.
  std::string After(const std::string& found) {
    Open()->PutNote({"digest", found}, {});
    GatewayOptions options;
    options.config = config_;
    auto gateway = Gateway::Create(io_, std::move(options));
    EXPECT_TRUE(gateway.ok()) << gateway.error().message;
    if (gateway.ok()) gateway->reset();
    return Open()->Load()->notes["digest"];
  }

  TestingFolder folder_;
  boost::asio::io_context io_;
  GatewayConfig config_;
};

TEST_F(MorningNote, SaysThatTheNightHasHadItsDigest) {
  const std::string yesterday = FormatRfc3339(WallNow() + -hours(24));
  const std::string told = After(yesterday);
  EXPECT_NE(told, yesterday);
  ASSERT_TRUE(ParseRfc3339(told));
  EXPECT_LT(WallNow().since_epoch - ParseRfc3339(told)->since_epoch, minutes(1));
  EXPECT_EQ(After(told), told);  // it is told once
}

TEST_F(MorningNote, IsMadeByAFirstStartAndByOneThatCannotReadIt) {
  EXPECT_TRUE(ParseRfc3339(After("")));
  EXPECT_TRUE(ParseRfc3339(After("this morning")));
}

}  // namespace
}  // namespace sentinel
