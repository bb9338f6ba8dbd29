#include "gateway/store_watch.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>

namespace sentinel {
namespace {

class StoreWatchTest : public testing::Test {
 protected:
  StoreWatchTest() {
    sink_->set_pattern("%l %v");
    before_ = spdlog::default_logger();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink_));
  }
  ~StoreWatchTest() override { spdlog::set_default_logger(before_); }

  // What was logged since the last time.
  std::string Logged() {
    std::string lines = out_.str();
    out_.str("");
    return lines;
  }

  std::ostringstream out_;
  std::shared_ptr<spdlog::sinks::ostream_sink_mt> sink_ =
      std::make_shared<spdlog::sinks::ostream_sink_mt>(out_);
  std::shared_ptr<spdlog::logger> before_;
  GatewayMetrics metrics_;
  StoreWatch watch_{metrics_};
};

TEST_F(StoreWatchTest, AFailureIsLoggedOnceAndSoIsItsEnd) {
  StoreHealth health;
  watch_.Look(health);
  EXPECT_EQ(Logged(), "");
  EXPECT_EQ(metrics_.store_ok->Value(), 1);
  health.ok = false;
  health.error = "disk full";
  watch_.Look(health);
  EXPECT_EQ(Logged(),
            "error event=store_failed why=\"disk full\" what=\"alarms ring from memory\"\n");
  EXPECT_EQ(metrics_.store_ok->Value(), 0);
  watch_.Look(health);
  EXPECT_EQ(Logged(), "");
  health.ok = true;
  watch_.Look(health);
  EXPECT_EQ(Logged(), "info event=store_back\n");
  watch_.Look(health);
  EXPECT_EQ(Logged(), "");
  EXPECT_EQ(metrics_.store_ok->Value(), 1);
}

TEST_F(StoreWatchTest, EachFileThatWasMovedAsideIsToldOnce) {
  StoreHealth health;
  for (const char* path : {"s.corrupt-1", "s.corrupt-1", "s.corrupt-2"}) {
    health.moved_aside = path;
    watch_.Look(health);
  }
  EXPECT_EQ(metrics_.store_corrupt->Value(), 2);
  const std::string logged = Logged();
  EXPECT_NE(logged.find("error event=store_corrupt moved_to=s.corrupt-1 "), std::string::npos);
  EXPECT_NE(logged.find("error event=store_corrupt moved_to=s.corrupt-2 "), std::string::npos);
}

TEST_F(StoreWatchTest, TheMetricsShowWhatWaitsAndWhatWasLost) {
  StoreHealth health;
  health.queued_rows = 7;
  health.failed_rows = 3;
  watch_.Look(health);
  watch_.Look(health);
  EXPECT_EQ(metrics_.store_queued_rows->Value(), 7);
  EXPECT_EQ(metrics_.store_rows_failed->Value(), 3);
}

}  // namespace
}  // namespace sentinel
