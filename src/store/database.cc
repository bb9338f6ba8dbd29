#include "store/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace sentinel {
namespace {

constexpr int kBusyMillis = 1000;  // somebody reads the file with sqlite3 at the same moment

// The schema, one step a version: PRAGMA user_version counts the steps taken. Steps are only added.
constexpr std::array kMigrations = {
    R"sql(
      CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        event_id TEXT UNIQUE,
        received_ms INTEGER NOT NULL,
        rack TEXT NOT NULL,
        host TEXT NOT NULL,
        type TEXT NOT NULL,
        gpu INTEGER,
        util REAL,
        job TEXT NOT NULL,
        state TEXT NOT NULL,
        incident TEXT NOT NULL,
        body BLOB NOT NULL);
      CREATE TABLE incidents (
        id TEXT PRIMARY KEY,
        open INTEGER NOT NULL,
        change INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        document TEXT NOT NULL) WITHOUT ROWID;
      CREATE INDEX incidents_by_change ON incidents (open, change);
      CREATE TABLE notifications (
        id TEXT PRIMARY KEY,
        incident TEXT NOT NULL,
        terminal TEXT NOT NULL,
        state TEXT NOT NULL,
        finished INTEGER NOT NULL,
        change INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        document TEXT NOT NULL) WITHOUT ROWID;
      CREATE INDEX notifications_by_change ON notifications (finished, change);
      CREATE TABLE mutes (
        id TEXT PRIMARY KEY,
        until_ms INTEGER NOT NULL,
        document TEXT NOT NULL) WITHOUT ROWID;
    )sql",
};

ErrorCode CodeOf(int sqlite) {
  switch (sqlite & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::kCorrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::kUnavailable;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return ErrorCode::kDenied;
    default:
      return ErrorCode::kIo;
  }
}

std::string_view StateName(EventState state) {
  return state == EventState::kFiring ? "firing" : "resolved";
}

// A broken file with what belongs to it, out of the way and kept for whoever wants to look.
Result<std::string> MoveAside(const std::string& path, WallTime now) {
  std::string target = path + ".corrupt-" + std::to_string(now.since_epoch.count());
  if (std::rename(path.c_str(), target.c_str()) != 0) {
    return Error{ErrorCode::kIo,
                 "cannot move " + path + " aside: " + std::string(std::strerror(errno))};
  }
  for (const char* suffix : {"-wal", "-shm"}) {
    std::rename((path + suffix).c_str(), (target + suffix).c_str());
  }
  return target;
}

}  // namespace

// A prepared statement in use: bound from 1 up, reset at the end whatever happens.
class Database::Statement {
 public:
  Statement(sqlite3_stmt* statement) : statement_(statement) {}  // NOLINT
  ~Statement() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // The text must outlive the statement's use.
  Statement& Text(std::string_view text) {
    // A null pointer would bind NULL.
    sqlite3_bind_text64(statement_, ++bound_, text.data() == nullptr ? "" : text.data(),
                        text.size(), SQLITE_STATIC, SQLITE_UTF8);
    return *this;
  }
  Statement& Bytes(std::string_view bytes) {
    sqlite3_bind_blob64(statement_, ++bound_, bytes.data() == nullptr ? "" : bytes.data(),
                        bytes.size(), SQLITE_STATIC);
    return *this;
  }
  Statement& Integer(int64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }
  Statement& Real(double value) {
    sqlite3_bind_double(statement_, ++bound_, value);
    return *this;
  }
  Statement& Null() {
    sqlite3_bind_null(statement_, ++bound_);
    return *this;
  }

  int Step() { return sqlite3_step(statement_); }
  std::string TextAt(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return text == nullptr
               ? std::string()
               : std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
  }
  int64_t IntegerAt(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  sqlite3_stmt* statement_;
  int bound_ = 0;
};

Result<std::unique_ptr<Database>> Database::Open(const StoreOptions& options, WallTime now,
                                                 std::string* moved_aside) {
  // Made here, so that its mode is ours and SQLite's side files inherit it.
  int fd = open(options.path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  for (bool second : {false, true}) {
    std::unique_ptr<Database> database(new Database(options));
    Status connected = database->Connect();
    if (connected.ok()) return database;
    if (second || connected.error().code != ErrorCode::kCorrupt) return connected.error();
    database.reset();
    *moved_aside = TRY(MoveAside(options.path, now));
    fd = open(options.path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
  }
  return Error{ErrorCode::kIo, "unreachable"};
}

Database::~Database() {
  for (sqlite3_stmt* statement :
       {insert_event_, put_incident_, put_notification_, put_mute_, remove_mute_}) {
    sqlite3_finalize(statement);
  }
  sqlite3_close(db_);
}

Error Database::LastError(const std::string& what) const {
  int code = db_ == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(db_);
  std::string words = db_ == nullptr ? "out of memory" : sqlite3_errmsg(db_);
  return Error{CodeOf(code), options_.path + ": " + what + ": " + words};
}

Status Database::Run(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return LastError(sql);
  return {};
}

Status Database::Prepare(const char* sql, sqlite3_stmt** statement) {
  if (sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, nullptr) !=
      SQLITE_OK) {
    return LastError(sql);
  }
  return {};
}

Status Database::Connect() {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(options_.path.c_str(), &db_, flags, nullptr) != SQLITE_OK) {
    return LastError("cannot open");
  }
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_busy_timeout(db_, kBusyMillis);
  TRY(Run("PRAGMA journal_mode=WAL"));
  TRY(Run("PRAGMA synchronous=FULL"));  // durable at commit; NORMAL would lose the last ones
  TRY(Run("PRAGMA journal_size_limit=67108864"));
  // Ids are hashes: each row touches another page of the index, and 2 MB do not hold it.
  TRY(Run("PRAGMA cache_size=-16384"));
  sqlite3_stmt* check = nullptr;
  TRY(Prepare("PRAGMA quick_check(1)", &check));
  std::string verdict;
  {
    Statement statement(check);
    if (statement.Step() == SQLITE_ROW) verdict = statement.TextAt(0);
  }
  Error failure = LastError("check");
  sqlite3_finalize(check);
  if (verdict.empty()) return failure;
  if (verdict != "ok") return Error{ErrorCode::kCorrupt, options_.path + ": " + verdict};
  TRY(Migrate());
  TRY(
      Prepare("INSERT INTO events (event_id, received_ms, rack, host, type, gpu, util, job, state, "
              "incident, body) VALUES (?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (event_id) DO NOTHING",
              &insert_event_));
  TRY(
      Prepare("INSERT OR REPLACE INTO incidents (id, open, change, updated_ms, document) "
              "VALUES (?,?,?,?,?)",
              &put_incident_));
  TRY(
      Prepare("INSERT OR REPLACE INTO notifications (id, incident, terminal, state, finished, "
              "change, updated_ms, document) VALUES (?,?,?,?,?,?,?,?)",
              &put_notification_));
  TRY(Prepare("INSERT OR REPLACE INTO mutes (id, until_ms, document) VALUES (?,?,?)", &put_mute_));
  TRY(Prepare("DELETE FROM mutes WHERE id = ?", &remove_mute_));
  sqlite3_stmt* last = nullptr;
  TRY(
      Prepare("SELECT max(ifnull((SELECT max(change) FROM incidents), 0), "
              "ifnull((SELECT max(change) FROM notifications), 0))",
              &last));
  {
    Statement statement(last);
    if (statement.Step() == SQLITE_ROW) change_ = statement.IntegerAt(0);
  }
  sqlite3_finalize(last);
  return {};
}

Status Database::Migrate() {
  sqlite3_stmt* ask = nullptr;
  TRY(Prepare("PRAGMA user_version", &ask));
  int64_t version = 0;
  {
    Statement statement(ask);
    if (statement.Step() == SQLITE_ROW) version = statement.IntegerAt(0);
  }
  sqlite3_finalize(ask);
  if (version > static_cast<int64_t>(kMigrations.size())) {
    return Error{ErrorCode::kInvalidArgument, options_.path +
                                                  " was written by a later version (schema " +
                                                  std::to_string(version) + ", we know " +
                                                  std::to_string(kMigrations.size()) + ")"};
  }
  for (auto step = static_cast<size_t>(version); step < kMigrations.size(); ++step) {
    std::string sql = "BEGIN IMMEDIATE;" + std::string(kMigrations[step]) +
                      "PRAGMA user_version=" + std::to_string(step + 1) + ";COMMIT";
    Status done = Run(sql.c_str());
    if (!done.ok()) {
      Rollback();
      return done;
    }
  }
  return {};
}

Status Database::Begin() { return Run("BEGIN IMMEDIATE"); }
Status Database::Commit() { return Run("COMMIT"); }
void Database::Rollback() {
  // SQLite may have rolled back by itself; then this fails and nothing is lost by it.
  sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
}

Status Database::Write(const StoreRow& row, WallTime now) {
  struct Visitor {
    Database& database;
    WallTime now;
    Status operator()(const StoredEvent& event) { return database.WriteEvent(event); }
    Status operator()(const StoredIncident& it) { return database.WriteIncident(it, now); }
    Status operator()(const StoredNotification& it) { return database.WriteNotification(it, now); }
    Status operator()(const StoredMute& mute) { return database.WriteMute(mute); }
    Status operator()(const RemovedMute& mute) { return database.RemoveMute(mute); }
  };
  return std::visit(Visitor{*this, now}, row);
}

Status Database::WriteEvent(const StoredEvent& row) {
  Statement statement(insert_event_);
  if (row.event_id.empty()) {
    statement.Null();
  } else {
    statement.Text(row.event_id);
  }
  statement.Integer(row.received_at.since_epoch.count())
      .Text(row.event.cluster_rack)
      .Text(row.event.node_host)
      .Text(row.event.event_type);
  if (row.event.gpu_index) {
    statement.Integer(*row.event.gpu_index);
  } else {
    statement.Null();
  }
  if (row.event.gpu_util) {
    statement.Real(*row.event.gpu_util);
  } else {
    statement.Null();
  }
  statement.Text(row.event.job_id)
      .Text(StateName(row.event.state))
      .Text(row.incident)
      .Bytes(row.body);
  if (statement.Step() != SQLITE_DONE) return LastError("event");
  return {};
}

Status Database::WriteIncident(const StoredIncident& row, WallTime now) {
  Statement statement(put_incident_);
  statement.Text(row.id)
      .Integer(row.open ? 1 : 0)
      .Integer(++change_)
      .Integer(now.since_epoch.count())
      .Text(row.document);
  if (statement.Step() != SQLITE_DONE) return LastError("incident");
  return {};
}

Status Database::WriteNotification(const StoredNotification& row, WallTime now) {
  Statement statement(put_notification_);
  statement.Text(row.id)
      .Text(row.incident)
      .Text(row.terminal)
      .Text(row.state)
      .Integer(row.state == "pending" ? 0 : 1)
      .Integer(++change_)
      .Integer(now.since_epoch.count())
      .Text(row.document);
  if (statement.Step() != SQLITE_DONE) return LastError("notification");
  return {};
}

Status Database::WriteMute(const StoredMute& row) {
  Statement statement(put_mute_);
  statement.Text(row.id).Integer(row.until.since_epoch.count()).Text(row.document);
  if (statement.Step() != SQLITE_DONE) return LastError("mute");
  return {};
}

Status Database::RemoveMute(const RemovedMute& row) {
  Statement statement(remove_mute_);
  statement.Text(row.id);
  if (statement.Step() != SQLITE_DONE) return LastError("mute");
  return {};
}

Status Database::Prune() {
  std::string events = "DELETE FROM events WHERE seq <= (SELECT max(seq) FROM events) - " +
                       std::to_string(options_.events_max);
  TRY(Run(events.c_str()));
  // The oldest change that stays is the one at the bound, counted from the newest.
  std::string incidents =
      "DELETE FROM incidents WHERE open = 0 AND change <= ifnull((SELECT change FROM incidents "
      "WHERE open = 0 ORDER BY change DESC LIMIT 1 OFFSET " +
      std::to_string(options_.closed_incidents_max) + "), -1)";
  TRY(Run(incidents.c_str()));
  std::string notifications =
      "DELETE FROM notifications WHERE finished = 1 AND change <= ifnull((SELECT change FROM "
      "notifications WHERE finished = 1 ORDER BY change DESC LIMIT 1 OFFSET " +
      std::to_string(options_.finished_notifications_max) + "), -1)";
  return Run(notifications.c_str());
}

Result<StoreContents> Database::Load() {
  StoreContents contents;
  auto each = [this](const std::string& sql, auto&& take) -> Status {
    sqlite3_stmt* prepared = nullptr;
    TRY(Prepare(sql.c_str(), &prepared));
    int code = SQLITE_ROW;
    {
      Statement statement(prepared);
      while ((code = statement.Step()) == SQLITE_ROW) take(statement);
    }
    Error failure = LastError("load");
    sqlite3_finalize(prepared);
    if (code != SQLITE_DONE) return failure;
    return {};
  };
  TRY(each("SELECT id, document FROM incidents WHERE open = 1 ORDER BY change",
           [&](Statement& row) {
             contents.open_incidents.push_back({row.TextAt(0), true, row.TextAt(1)});
           }));
  TRY(each("SELECT id, document FROM incidents WHERE open = 0 ORDER BY change DESC LIMIT " +
               std::to_string(options_.closed_incidents_loaded_max),
           [&](Statement& row) {
             contents.closed_incidents.push_back({row.TextAt(0), false, row.TextAt(1)});
           }));
  TRY(
      each("SELECT id, incident, terminal, state, document FROM notifications WHERE finished = 0 "
           "ORDER BY change",
           [&](Statement& row) {
             contents.unfinished_notifications.push_back(
                 {row.TextAt(0), row.TextAt(1), row.TextAt(2), row.TextAt(3), row.TextAt(4)});
           }));
  TRY(each("SELECT id, until_ms, document FROM mutes ORDER BY id", [&](Statement& row) {
    contents.mutes.push_back(
        {row.TextAt(0), WallTime{std::chrono::milliseconds(row.IntegerAt(1))}, row.TextAt(2)});
  }));
  TRY(each("SELECT event_id FROM events WHERE event_id IS NOT NULL ORDER BY seq DESC LIMIT " +
               std::to_string(options_.event_ids_loaded_max),
           [&](Statement& row) { contents.event_ids.push_back(row.TextAt(0)); }));
  return contents;
}

}  // namespace sentinel
