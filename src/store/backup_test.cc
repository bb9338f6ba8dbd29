#include "store/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "base/testing_folder.h"
#include "store/store.h"

namespace sentinel {
namespace {

using testing::HasSubstr;

class BackupTest : public testing::Test {
 protected:
  BackupTest() { options_.path = from_; }

  void Open(const std::string& path) {
    store_.reset();
    options_.path = path;
    auto store = Store::Open(io_, options_);
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = std::move(*store);
  }
  void Put(const std::string& id) {
    bool done = false;
    const auto document = [] { return std::string("{}"); };
    store_->PutIncident(id, document, 8, true, [&](const Status& status) {
      EXPECT_TRUE(status.ok()) << status.error().message;
      done = true;
    });
    while (!done) io_.run_one();
  }

  TestingFolder folder_;
  const std::string from_ = (folder_.path() / "sentinel.db").string();
  const std::string to_ = (folder_.path() / "copy.db").string();
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  StoreOptions options_;
  std::unique_ptr<Store> store_;
};

TEST_F(BackupTest, AStoreThatIsWrittenToIsCopiedAndAGatewayCanStartOnTheCopy) {
  Open(from_);
  Put("a");
  Put("b");
  const Result<BackupReport> report = BackUpStore(from_, to_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->incidents, 2u);
  EXPECT_EQ(report->events, 0u);
  struct stat made {};
  ASSERT_EQ(stat(to_.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0600u);
  EXPECT_EQ(report->bytes, static_cast<uint64_t>(made.st_size));
  Put("c");  // the writer goes on
  Open(to_);
  EXPECT_EQ(store_->Load()->open_incidents.size(), 2u);
  EXPECT_EQ(store_->health().moved_aside, "");
}

TEST_F(BackupTest, NothingIsOverwrittenAndNothingHalfDoneIsLeft) {
  Open(from_);
  std::ofstream(to_) << "mine";
  EXPECT_THAT(BackUpStore(from_, to_).error().message, HasSubstr("exists already"));
  EXPECT_EQ(std::filesystem::file_size(to_), 4u);
  EXPECT_EQ(BackUpStore((folder_.path() / "none.db").string(), to_ + "2").error().code,
            ErrorCode::kNotFound);
  const Result<BackupReport> foreign = BackUpStore(to_, to_ + "2");  // no SQLite at all
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().code, ErrorCode::kCorrupt) << foreign.error().message;
  EXPECT_FALSE(BackUpStore(from_, (folder_.path() / "no/such/folder.db").string()).ok());
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_EQ(entry.path().string().find(".part-"), std::string::npos) << entry.path();
  }
}

TEST_F(BackupTest, ADatabaseOfSomethingElseIsNoStore) {
  std::ofstream(from_).close();  // an empty file is an empty database
  EXPECT_THAT(BackUpStore(from_, to_).error().message, HasSubstr("is not a store of a gateway"));
}

}  // namespace
}  // namespace sentinel
