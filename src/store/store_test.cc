#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>

namespace sentinel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kIncident = "3f9c0a4b7d21e658";

Store::Document Text(std::string text) {
  return [text = std::move(text)] { return text; };
}

StoredEvent EventNamed(const std::string& id) {
  StoredEvent row;
  row.event_id = id;
  row.named = !id.empty();
  row.received_at = WallTime{std::chrono::milliseconds(1795996334250)};
  row.event.cluster_rack = "A03";
  row.event.node_host = "gpu-worker-08";
  row.event.event_type = "XID_FATAL";
  row.event.gpu_index = 3;
  row.event.gpu_util = 12.5;
  row.incident = kIncident;
  row.body = R"({"node_host":"gpu-worker-08"})";
  return row;
}

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    char name[] = "/tmp/sentinel-store-XXXXXX";
    EXPECT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    options_.path = folder_ + "/sentinel.db";
  }
  ~StoreTest() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Open() {
    store_.reset();
    auto store = Store::Open(io_, options_);
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = std::move(store).value();
  }
  // Runs the io_context until `count` callbacks came, or ten seconds passed.
  void AwaitDone(size_t count) {
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (done_.size() < count && std::chrono::steady_clock::now() < end) {
      if (io_.stopped()) io_.restart();
      io_.run_one_for(std::chrono::milliseconds(5));
    }
    ASSERT_EQ(done_.size(), count);
  }
  Store::Done Record() {
    return [this](Status status) { done_.push_back(std::move(status)); };
  }
  Status AppendAndWait(const std::string& id) {
    done_.clear();
    store_->AppendEvent(EventNamed(id), Record());
    AwaitDone(1);
    return done_.empty() ? Status(Error{ErrorCode::kTimeout, ""}) : done_[0];
  }
  StoreContents Loaded() {
    auto contents = store_->Load();
    EXPECT_TRUE(contents.ok()) << (contents.ok() ? "" : contents.error().message);
    return contents.ok() ? std::move(contents).value() : StoreContents{};
  }
  std::string Query(const std::string& sql) {
    sqlite3* db = nullptr;
    sqlite3_open(options_.path.c_str(), &db);
    std::string result;
    auto take = [](void* out, int columns, char** values, char**) {
      for (int i = 0; i < columns; ++i) {
        *static_cast<std::string*>(out) +=
            (i > 0 ? "|" : "") + std::string(values[i] ? values[i] : "NULL");
      }
      *static_cast<std::string*>(out) += "\n";
      return 0;
    };
    char* error = nullptr;
    sqlite3_exec(db, sql.c_str(), take, &result, &error);
    if (error != nullptr) ADD_FAILURE() << error;
    sqlite3_close(db);
    return result;
  }

  boost::asio::io_context io_;
  std::string folder_;
  StoreOptions options_;
  std::unique_ptr<Store> store_;
  std::vector<Status> done_;
};

TEST_F(StoreTest, WhatWasWrittenIsThereAfterARestart) {
  Open();
  store_->AppendEvent(EventNamed("e-1"), Record());
  store_->PutIncident("i-1", Text(R"({"v":1})"), 8, true, Record());
  store_->PutIncident("i-2", Text(R"({"v":2})"), 8, true, Record());
  store_->PutIncident("i-1", Text(R"({"v":3})"), 8, true, Record());
  store_->PutIncident("i-3", Text(R"({"v":4})"), 8, false, Record());
  store_->PutNote({"boot/hall-1", "a"}, Record());
  store_->PutNote({"boot/hall-1", "b"}, Record());
  AwaitDone(7);
  for (const Status& status : done_) EXPECT_TRUE(status.ok());
  Open();
  StoreContents contents = Loaded();
  ASSERT_EQ(contents.open_incidents.size(), 2u);
  EXPECT_EQ(contents.open_incidents[0].id, "i-2");
  EXPECT_EQ(contents.open_incidents[1].id, "i-1");
  EXPECT_EQ(contents.open_incidents[1].document, R"({"v":3})");
  ASSERT_EQ(contents.closed_incidents.size(), 1u);
  EXPECT_EQ(contents.closed_incidents[0].id, "i-3");
  EXPECT_EQ(contents.notes.at("boot/hall-1"), "b");
  EXPECT_THAT(contents.event_ids, ElementsAre(KeptEventId{"e-1", kIncident}));
  EXPECT_EQ(
      Query("SELECT event_id, received_ms, rack, host, type, gpu, util, job, state, incident, "
            "body FROM events"),
      "e-1|1795996334250|A03|gpu-worker-08|XID_FATAL|3|12.5||firing|3f9c0a4b7d21e658|"
      "{\"node_host\":\"gpu-worker-08\"}\n");
}

TEST_F(StoreTest, AnEventThatWasAcknowledgedSurvivesKillMinusNine) {
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    boost::asio::io_context io;
    auto store = Store::Open(io, options_);
    if (!store.ok()) _exit(1);
    auto work = boost::asio::make_work_guard(io);
    (*store)->AppendEvent(EventNamed("e-1"), [](Status status) {
      if (status.ok()) kill(getpid(), SIGKILL);
    });
    io.run();
    _exit(2);
  }
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  ASSERT_TRUE(WIFSIGNALED(how));
  Open();
  EXPECT_THAT(Loaded().event_ids, ElementsAre(KeptEventId{"e-1", kIncident}));
}

TEST_F(StoreTest, AnIncidentWithoutARowIsLoadedAsTheEventThatBeganIt) {
  Open();
  for (uint64_t i = 1; i <= 4; ++i) {
    StoredEvent event = EventNamed("");
    event.incident = "i-" + std::to_string(i);
    event.begun = i;
    event.occurrence = 100 + i;
    store_->AppendEvent(event, Record());
  }
  store_->AppendEvent(EventNamed("e-5"), Record());  // began none
  store_->PutIncident("i-3", Text("{}"), 8, false, Record());
  store_->PutNote({kBegunKeptNote, "1"}, Record());
  AwaitDone(7);
  Open();
  StoreContents contents = Loaded();
  ASSERT_EQ(contents.begun_incidents.size(), 2u);
  EXPECT_EQ(contents.begun_incidents[0].id, "i-2");
  EXPECT_EQ(contents.begun_incidents[0].begun, 2u);
  EXPECT_EQ(contents.begun_incidents[0].occurrence, 102u);
  EXPECT_EQ(contents.begun_incidents[0].received_at.since_epoch.count(), 1795996334250);
  EXPECT_EQ(contents.begun_incidents[0].body, R"({"node_host":"gpu-worker-08"})");
  EXPECT_EQ(contents.begun_incidents[1].id, "i-4");
  EXPECT_EQ(contents.begun_last, 4u);
}

TEST_F(StoreTest, ARepeatedEventIdIsOneRowAndNoError) {
  Open();
  EXPECT_TRUE(AppendAndWait("e-1").ok());
  EXPECT_TRUE(AppendAndWait("e-1").ok());
  EXPECT_TRUE(AppendAndWait("").ok());
  EXPECT_TRUE(AppendAndWait("").ok());
  EXPECT_EQ(Query("SELECT count(*), sum(named) FROM events"), "3|1\n");
}

TEST_F(StoreTest, AnEventThatBeginsAnIncidentIsKeptAlsoUnderAnOldId) {
  Open();
  EXPECT_TRUE(AppendAndWait("e-1").ok());
  StoredEvent event = EventNamed("e-1");
  event.incident = "i-1";
  event.begun = 1;
  event.occurrence = 7;
  done_.clear();
  store_->AppendEvent(event, Record());
  store_->AppendEvent(EventNamed("e-1"), Record());  // and no later repeat undoes it
  AwaitDone(2);
  Open();
  StoreContents contents = Loaded();
  ASSERT_EQ(contents.begun_incidents.size(), 1u);
  EXPECT_EQ(contents.begun_incidents[0].id, "i-1");
  EXPECT_THAT(contents.event_ids, ElementsAre(KeptEventId{"e-1", "i-1"}));
}

TEST_F(StoreTest, RowsThatWaitTogetherAreCommittedTogetherAndAnsweredInOrder) {
  Open();
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) {
    store_->AppendEvent(EventNamed("e-" + std::to_string(i)), [&order, i, this](Status status) {
      order.push_back(i);
      done_.push_back(std::move(status));
    });
  }
  EXPECT_TRUE(done_.empty());  // never from within the call
  AwaitDone(1000);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(order[static_cast<size_t>(i)], i);
  EXPECT_LE(store_->health().commits, 20u);
  EXPECT_EQ(store_->health().rows, 1000u);
}

TEST_F(StoreTest, TheDestructorCommitsWhatIsQueued) {
  Open();
  for (int i = 0; i < 500; ++i) store_->AppendEvent(EventNamed("e-" + std::to_string(i)), {});
  Open();
  EXPECT_EQ(Loaded().event_ids.size(), 500u);
}

TEST_F(StoreTest, AFullQueueRefusesAndSaysSo) {
  options_.queue_rows_max = 10;
  Open();
  for (int i = 0; i < 5000; ++i) store_->AppendEvent(EventNamed(""), Record());
  AwaitDone(5000);
  size_t refused = 0;
  for (const Status& status : done_) {
    if (status.ok()) continue;
    EXPECT_EQ(status.error().code, ErrorCode::kExhausted);
    ++refused;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(store_->health().refused_rows, refused);
  EXPECT_TRUE(store_->health().ok);
  options_.queue_rows_max = 100'000;
  options_.queue_bytes_max = 10'000;
  Open();
  StoredEvent big = EventNamed("");
  big.body = std::string(60'000, 'x');
  done_.clear();
  store_->AppendEvent(big, Record());
  AwaitDone(1);
  EXPECT_EQ(done_[0].error().code, ErrorCode::kExhausted);
  done_.clear();
  store_->PutIncident("i-1", Text("{}"), 10'000, true, Record());  // by what it says it holds
  AwaitDone(1);
  EXPECT_EQ(done_[0].error().code, ErrorCode::kExhausted);
}

TEST_F(StoreTest, AnIncidentIsWrittenDownOnceAndNotOnTheCallersThread) {
  Open();
  std::atomic<int> written = 0;
  std::atomic<bool> elsewhere = false;
  auto document = [&, caller = std::this_thread::get_id()] {
    ++written;
    elsewhere = std::this_thread::get_id() != caller;
    return std::string("{}");
  };
  store_->PutIncident("i-1", document, 8, true, Record());
  AwaitDone(1);
  EXPECT_TRUE(done_[0].ok());
  EXPECT_EQ(written, 1);
  EXPECT_TRUE(elsewhere);
}

TEST_F(StoreTest, ACorruptFileIsMovedAsideAndANewOneBegun) {
  std::ofstream(options_.path) << std::string(20'000, 'x');
  Open();
  StoreHealth health = store_->health();
  EXPECT_TRUE(health.ok);
  EXPECT_THAT(health.moved_aside, HasSubstr(options_.path + ".corrupt-"));
  EXPECT_EQ(std::filesystem::file_size(health.moved_aside), 20'000u);
  EXPECT_TRUE(AppendAndWait("e-1").ok());
}

TEST_F(StoreTest, AFileThatIsDamagedInTheMiddleIsMovedAside) {
  Open();
  for (int i = 0; i < 2000; ++i) store_->AppendEvent(EventNamed("e-" + std::to_string(i)), {});
  store_.reset();
  {
    std::fstream file(options_.path, std::ios::in | std::ios::out | std::ios::binary);
    for (int page = 2; page < 30; ++page) {
      file.seekp(page * 4096);
      file << std::string(4096, '\xA5');
    }
  }
  Open();
  EXPECT_NE(store_->health().moved_aside, "");
  EXPECT_TRUE(AppendAndWait("e-1").ok());
}

TEST_F(StoreTest, ADiskThatIsFullFailsTheWriteAndHealsByItself) {
  Open();
  ASSERT_TRUE(AppendAndWait("e-1").ok());
  // A limit on file sizes fails writes as a full disk does, without one.
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit tight = before;
  tight.rlim_cur = 1;
  setrlimit(RLIMIT_FSIZE, &tight);
  Status failed = AppendAndWait("e-2");
  StoreHealth health = store_->health();
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(failed.ok());
  EXPECT_FALSE(health.ok);
  EXPECT_NE(health.error, "");
  EXPECT_EQ(health.failed_rows, 1u);
  EXPECT_TRUE(AppendAndWait("e-3").ok());
  EXPECT_TRUE(store_->health().ok);
  EXPECT_THAT(Loaded().event_ids,
              ElementsAre(KeptEventId{"e-3", kIncident}, KeptEventId{"e-1", kIncident}));
}

TEST_F(StoreTest, APlaceThatCannotBeWrittenGivesAStoreThatSaysSo) {
  options_.path = "/proc/self/sentinel.db";
  Open();
  EXPECT_FALSE(store_->health().ok);
  EXPECT_FALSE(AppendAndWait("e-1").ok());
  EXPECT_TRUE(store_->Load().value().open_incidents.empty());
  EXPECT_THAT(store_->health().error, HasSubstr("/proc/self/sentinel.db"));
}

TEST_F(StoreTest, AStartThatIsWrongIsRefused) {
  options_.path = folder_ + "/missing/sentinel.db";
  EXPECT_EQ(Store::Open(io_, options_).error().code, ErrorCode::kNotFound);
  options_.path = folder_;
  EXPECT_FALSE(Store::Open(io_, options_).ok());
  options_.path = folder_ + "/later.db";
  Query("PRAGMA user_version=99");
  auto later = Store::Open(io_, options_);
  ASSERT_FALSE(later.ok());
  EXPECT_THAT(later.error().message, HasSubstr("later version"));
}

TEST_F(StoreTest, OldRowsGoOpenOnesStay) {
  options_.events_max = 100;
  options_.closed_incidents_max = 10;
  Open();
  for (int i = 0; i < 3000; ++i) {
    std::string name = std::to_string(i);
    store_->AppendEvent(EventNamed(name), {});
    if (i < 200) {
      store_->PutIncident(name, Text("{}"), 8, i < 50, {});
    }
  }
  Open();  // looks at the bounds with the first write
  EXPECT_TRUE(AppendAndWait("last").ok());
  EXPECT_EQ(Query("SELECT count(*) FROM events"), "100\n");
  EXPECT_EQ(Query("SELECT sum(open), sum(1 - open) FROM incidents"), "50|10\n");
  StoreContents contents = Loaded();
  EXPECT_EQ(contents.closed_incidents.front().id, "199");
  EXPECT_EQ(contents.event_ids.front().event_id, "last");
}

TEST_F(StoreTest, TheFileIsTheOwnersAlone) {
  Open();
  ASSERT_TRUE(AppendAndWait("e-1").ok());
  for (const char* suffix : {"", "-wal"}) {
    struct stat made {};
    ASSERT_EQ(stat((options_.path + suffix).c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 0777, 0600u) << suffix;
  }
}

TEST_F(StoreTest, TheAuditTrailIsReadNewestFirstAndOutlivesTheProcess) {
  Open();
  for (int i = 0; i < 3; ++i) {
    store_->AppendAudit({WallTime{std::chrono::milliseconds(1000 + i)},
                         {"li", "10.0.0.7"},
                         AuditAction::kSilence,
                         "s" + std::to_string(i),
                         "host=n1"},
                        Record());
  }
  std::vector<AuditRecord> lines;
  auto read = [&](size_t max) {
    done_.clear();
    store_->ReadAudit(max, [&](Result<std::vector<AuditRecord>> answer) {
      ASSERT_TRUE(answer.ok()) << answer.error().message;
      lines = std::move(answer).value();
      done_.push_back({});
    });
  };
  AwaitDone(3);
  read(2);
  AwaitDone(1);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].subject, "s2");
  EXPECT_EQ(lines[1].subject, "s1");
  Open();
  read(10);
  AwaitDone(1);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2].at.since_epoch.count(), 1000);
  EXPECT_EQ(lines[2].actor.by, "li");
  EXPECT_EQ(lines[2].actor.from, "10.0.0.7");
  EXPECT_EQ(lines[2].action, AuditAction::kSilence);
  EXPECT_EQ(lines[2].detail, "host=n1");
}

TEST_F(StoreTest, TheAuditTrailKeepsItsNewestLines) {
  options_.audit_max = 10;
  Open();
  for (int i = 0; i < 40; ++i) {
    store_->AppendAudit({WallTime{}, {"li", ""}, AuditAction::kMute, std::to_string(i), ""},
                        Record());
  }
  AwaitDone(40);
  Open();  // the first rows written after a start look at the bounds
  ASSERT_TRUE(AppendAndWait("e").ok());
  EXPECT_EQ(Query("SELECT count(*) FROM audit"), "10\n");
  EXPECT_EQ(Query("SELECT min(subject) FROM audit"), "30\n");
}

TEST_F(StoreTest, ANotePutEmptyIsGone) {
  Open();
  store_->PutNote({"silence/1", "{}"}, Record());
  store_->PutNote({"silence/1", ""}, Record());
  AwaitDone(2);
  EXPECT_FALSE(Loaded().notes.contains("silence/1"));
}

}  // namespace
}  // namespace sentinel
