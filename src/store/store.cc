#include "store/store.h"

#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/clock.h"
#include "store/database.h"

namespace sentinel {
namespace {

// Rows come in bursts: senders that were answered together send again together. A commit waits
// until none has come for this long, so that it takes the burst and not its first row alone.
constexpr auto kGatherQuiet = std::chrono::microseconds(200);
// Rows written between two looks at the bounds of the tables.
constexpr uint64_t kPruneEvery = 2000;
// A question waits for what was to be written before it, but not for more batches than this.
constexpr int kReadWaitsMax = 16;
constexpr size_t kRowOverhead = 256;  // bytes of memory of a queued row besides its texts

struct Write {
  StoreRow row;
  Store::Document document;  // of an incident: its row has it once it is written
  Store::Done done;
  size_t bytes = 0;
};

size_t BytesOf(const StoreRow& row) {
  struct Visitor {
    size_t operator()(const StoredEvent& it) { return 2 * it.body.size() + it.incident.size(); }
    size_t operator()(const StoredIncident& it) { return it.id.size(); }
    size_t operator()(const StoredNote& it) { return it.name.size() + it.value.size(); }
    size_t operator()(const AuditRecord& it) { return it.subject.size() + it.detail.size(); }
  };
  return std::visit(Visitor{}, row) + kRowOverhead;
}

class StoreOnSqlite final : public Store {
 public:
  StoreOnSqlite(boost::asio::io_context& io, StoreOptions options)
      : io_(io), options_(std::move(options)) {
    Reopen();
    if (!database_) first_opening_ = open_error_;
    thread_ = std::thread([this] { Run(); });
  }

  ~StoreOnSqlite() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  const Status& first_opening() const { return first_opening_; }

  void AppendEvent(StoredEvent event, Done done) override {
    Enqueue(std::move(event), std::move(done));
  }
  void PutIncident(std::string id, Document json_document, size_t bytes, bool open,
                   Done done) override {
    StoredIncident incident;
    incident.id = std::move(id);
    incident.open = open;
    Enqueue(std::move(incident), std::move(done), std::move(json_document), bytes);
  }
  void PutNote(StoredNote note, Done done) override { Enqueue(std::move(note), std::move(done)); }
  void AppendAudit(AuditRecord record, Done done) override {
    Enqueue(std::move(record), std::move(done));
  }

  void ReadAudit(size_t max, AuditRead done) override {
    {
      std::lock_guard lock(mutex_);
      if (reads_.size() >= kStoreReadsMax) {
        return boost::asio::post(io_, [done = std::move(done)] {
          done(Error{ErrorCode::kExhausted, "too many questions wait for the store"});
        });
      }
      reads_.push_back({max, std::move(done)});
    }
    wake_.notify_one();
  }

  Result<StoreContents> Load() override {
    std::promise<Result<StoreContents>> loaded;
    auto future = loaded.get_future();
    {
      std::lock_guard lock(mutex_);
      load_ = &loaded;
    }
    wake_.notify_one();
    return future.get();
  }

  StoreHealth health() const override {
    std::lock_guard lock(mutex_);
    StoreHealth health = health_;
    health.queued_rows = queue_.size();
    return health;
  }

 private:
  struct Read {
    size_t max = 0;
    AuditRead done;
  };

  void Enqueue(StoreRow row, Done done, Document document = {}, size_t document_bytes = 0) {
    Write write;
    write.bytes = BytesOf(row) + document_bytes;
    write.row = std::move(row);
    write.document = std::move(document);
    write.done = std::move(done);
    bool notify = false;
    {
      std::lock_guard lock(mutex_);
      if (queue_.size() >= options_.queue_rows_max ||
          queue_bytes_ + write.bytes > options_.queue_bytes_max) {
        ++health_.refused_rows;
        return Refuse(std::move(write.done));
      }
      queue_bytes_ += write.bytes;
      queue_.push_back(std::move(write));
      notify = idle_;
    }
    if (notify) wake_.notify_one();
  }

  void Refuse(Done done) {
    if (!done) return;
    boost::asio::post(io_, [done = std::move(done)] {
      done(Error{ErrorCode::kExhausted, "the store's queue is full: the disk does not keep up"});
    });
  }

  // The writer.
  void Run() {
    for (;;) {
      std::vector<Write> batch;
      std::vector<Read> reads;
      std::promise<Result<StoreContents>>* load = nullptr;
      {
        std::unique_lock lock(mutex_);
        idle_ = true;
        wake_.wait(lock, [this] {
          return stopping_ || load_ != nullptr || !queue_.empty() || !reads_.empty();
        });
        idle_ = false;
        load = std::exchange(load_, nullptr);
        if (load == nullptr && queue_.empty() && reads_.empty())
          return;  // stopping, all is written
        Gather(lock);
        batch = TakeBatch();
        if (queue_.empty() || ++reads_waited_ >= kReadWaitsMax) {
          reads = std::exchange(reads_, {});
          reads_waited_ = 0;
        }
      }
      if (!batch.empty()) CommitAndReport(std::move(batch));
      for (Read& read : reads) AnswerRead(std::move(read));
      if (load != nullptr) load->set_value(LoadNow());
    }
  }

  // Waits for the burst that has begun, not longer than batch_wait_max.
  void Gather(std::unique_lock<std::mutex>& lock) {
    Instant end = MonotonicNow() + options_.batch_wait_max;
    size_t seen = 0;
    while (!stopping_ && load_ == nullptr && queue_.size() < options_.batch_rows_max &&
           queue_.size() != seen && MonotonicNow() < end) {
      seen = queue_.size();
      lock.unlock();
      std::this_thread::sleep_for(kGatherQuiet);
      lock.lock();
    }
  }

  std::vector<Write> TakeBatch() {
    size_t count = std::min(queue_.size(), options_.batch_rows_max);
    std::vector<Write> batch;
    batch.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      queue_bytes_ -= queue_.front().bytes;
      batch.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    return batch;
  }

  void CommitAndReport(std::vector<Write> batch) {
    Status status = CommitBatch(batch);
    {
      std::lock_guard lock(mutex_);
      health_.ok = status.ok();
      if (status.ok()) {
        ++health_.commits;
        health_.rows += batch.size();
      } else {
        health_.failed_rows += batch.size();
        health_.error = status.error().message;
      }
    }
    std::vector<Done> dones;
    for (Write& write : batch) {
      if (write.done) dones.push_back(std::move(write.done));
    }
    if (dones.empty()) return;
    boost::asio::post(io_, [dones = std::move(dones), status = std::move(status)] {
      for (const Done& done : dones) done(status);
    });
  }

  Status CommitBatch(std::vector<Write>& batch) {
    if (!database_ && MonotonicNow() >= reopen_at_) Reopen();
    if (!database_) return open_error_;
    WallTime now = WallNow();
    Status status = WriteBatch(batch, now);
    if (status.ok()) return status;
    database_->Rollback();
    // A full disk gets better under an open file; anything else is tried with a fresh one, which
    // also is what moves a corrupt file out of the way.
    if (status.error().code == ErrorCode::kCorrupt) {
      database_.reset();
      open_error_ = status.error();
      Reopen();
    }
    return status;
  }

  Status WriteBatch(std::vector<Write>& batch, WallTime now) {
    TRY(database_->Begin());
    for (Write& write : batch) {
      if (write.document) std::get<StoredIncident>(write.row).document = write.document();
      TRY(database_->Write(write.row, now));
    }
    rows_since_prune_ += batch.size();
    if (rows_since_prune_ >= kPruneEvery) {
      TRY(database_->Prune());
      rows_since_prune_ = 0;
    }
    return database_->Commit();
  }

  void AnswerRead(Read read) {
    Result<std::vector<AuditRecord>> lines = open_error_;
    if (database_) lines = database_->ReadAudit(read.max);
    boost::asio::post(io_, [done = std::move(read.done), lines = std::move(lines)]() mutable {
      done(std::move(lines));
    });
  }

  Result<StoreContents> LoadNow() {
    if (database_) return database_->Load();
    // A disk that turned read-only must not make a start forget what was open.
    auto reader = Database::OpenToRead(options_);
    if (reader.ok()) return (*reader)->Load();
    if (reader.error().code == ErrorCode::kNotFound) return StoreContents{};
    return open_error_;
  }

  void Reopen() {
    reopen_at_ = MonotonicNow() + options_.reopen_pause;
    std::string moved_aside;
    auto opened = Database::Open(options_, WallNow(), &moved_aside);
    std::lock_guard lock(mutex_);
    if (!moved_aside.empty()) health_.moved_aside = moved_aside;
    health_.ok = opened.ok();
    if (opened.ok()) {
      database_ = std::move(opened).value();
    } else {
      open_error_ = opened.error();
      health_.error = open_error_.message;
    }
  }

  boost::asio::io_context& io_;
  const StoreOptions options_;
  Status first_opening_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Write> queue_;
  size_t queue_bytes_ = 0;
  bool idle_ = false;
  bool stopping_ = false;
  std::promise<Result<StoreContents>>* load_ = nullptr;
  std::vector<Read> reads_;
  int reads_waited_ = 0;  // batches since one was answered
  StoreHealth health_;

  // The writer's alone, once it runs.
  std::unique_ptr<Database> database_;
  Error open_error_{ErrorCode::kIo, "not opened"};
  Instant reopen_at_;
  uint64_t rows_since_prune_ = kPruneEvery;  // bounds may be lower than the last time

  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Store>> Store::Open(boost::asio::io_context& io, StoreOptions options) {
  size_t slash = options.path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : options.path.substr(0, slash + 1);
  struct stat found {};
  if (options.path.empty() || stat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
    return Error{ErrorCode::kNotFound,
                 "the folder of the store '" + options.path + "' does not exist; create it"};
  }
  if (stat(options.path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
    return Error{ErrorCode::kInvalidArgument, "the store '" + options.path + "' is not a file"};
  }
  auto store = std::make_unique<StoreOnSqlite>(io, std::move(options));
  Status usable = store->first_opening();
  if (!usable.ok() && usable.error().code == ErrorCode::kInvalidArgument) return usable.error();
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace sentinel
