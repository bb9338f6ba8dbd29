#include "store/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "store/statement.h"

namespace sentinel {
namespace {

constexpr int kBusyMillis = 1000;  // somebody reads the file with sqlite3 at the same moment

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

Result<std::unique_ptr<Database>> Database::OpenToRead(const StoreOptions& options) {
  struct stat found {};
  if (stat(options.path.c_str(), &found) != 0 && errno == ENOENT) {
    return Error{ErrorCode::kNotFound, options.path + ": there is no such file"};
  }
  std::unique_ptr<Database> database(new Database(options));
  // The last commits lie in the -wal file, which SQLite reads also where it cannot write beside it.
  int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(options.path.c_str(), &database->db_, flags, nullptr) != SQLITE_OK) {
    return database->LastError("cannot open");
  }
  sqlite3_extended_result_codes(database->db_, 1);
  return database;
}

Database::~Database() {
  for (sqlite3_stmt* statement :
       {insert_event_, put_incident_, put_note_, forget_note_, append_audit_}) {
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
  // A checkpoint costs two flushes more: every 16 MB instead of every 4.
  TRY(Run("PRAGMA wal_autocheckpoint=4096"));
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
      Prepare("INSERT INTO events (event_id, named, received_ms, rack, host, type, gpu, util, job, "
              "state, incident, begun, occurrence, body) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?) "
              "ON CONFLICT (event_id) WHERE named = 1 DO UPDATE SET "
              "received_ms = excluded.received_ms, incident = excluded.incident, "
              "begun = excluded.begun, occurrence = excluded.occurrence, body = excluded.body "
              "WHERE excluded.begun IS NOT NULL",
              &insert_event_));
  TRY(
      Prepare("INSERT INTO incidents (id, open, change, updated_ms, document) VALUES (?,?,?,?,?) "
              "ON CONFLICT (id) DO UPDATE SET open = excluded.open, change = excluded.change, "
              "updated_ms = excluded.updated_ms, document = excluded.document",
              &put_incident_));
  TRY(Prepare("INSERT OR REPLACE INTO notes (name, value) VALUES (?,?)", &put_note_));
  TRY(Prepare("DELETE FROM notes WHERE name = ?", &forget_note_));
  TRY(
      Prepare("INSERT INTO audit (at_ms, actor, origin, action, subject, detail) "
              "VALUES (?,?,?,?,?,?)",
              &append_audit_));
  sqlite3_stmt* last = nullptr;
  TRY(Prepare("SELECT ifnull(max(change), 0) FROM incidents", &last));
  {
    Statement statement(last);
    if (statement.Step() == SQLITE_ROW) change_ = statement.IntegerAt(0);
  }
  sqlite3_finalize(last);
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
    Status operator()(const StoredNote& note) { return database.WriteNote(note); }
    Status operator()(const AuditRecord& record) { return database.WriteAudit(record); }
  };
  return std::visit(Visitor{*this, now}, row);
}

Status Database::WriteEvent(const StoredEvent& row) {
  Statement statement(insert_event_);
  statement.Text(row.event_id)
      .Integer(row.named ? 1 : 0)
      .Integer(row.received_at.since_epoch.count())
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
  statement.Text(row.event.job_id).Text(StateName(row.event.state)).Text(row.incident);
  if (row.begun != 0) {
    statement.Integer(static_cast<int64_t>(row.begun))
        .Integer(static_cast<int64_t>(row.occurrence));
  } else {
    statement.Null().Null();
  }
  statement.Bytes(row.body);
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

Status Database::WriteNote(const StoredNote& row) {
  if (row.value.empty()) {
    Statement forget(forget_note_);
    forget.Text(row.name);
    if (forget.Step() != SQLITE_DONE) return LastError("note");
    return {};
  }
  Statement statement(put_note_);
  statement.Text(row.name).Text(row.value);
  if (statement.Step() != SQLITE_DONE) return LastError("note");
  return {};
}

Status Database::WriteAudit(const AuditRecord& row) {
  Statement statement(append_audit_);
  statement.Integer(row.at.since_epoch.count())
      .Text(row.actor.by)
      .Text(row.actor.from)
      .Text(AuditActionName(row.action))
      .Text(row.subject)
      .Text(row.detail);
  if (statement.Step() != SQLITE_DONE) return LastError("audit");
  return {};
}

Status Database::Prune() {
  std::string events = "DELETE FROM events WHERE seq <= (SELECT max(seq) FROM events) - " +
                       std::to_string(options_.events_max);
  TRY(Run(events.c_str()));
  std::string audit = "DELETE FROM audit WHERE seq <= (SELECT max(seq) FROM audit) - " +
                      std::to_string(options_.audit_max);
  TRY(Run(audit.c_str()));
  // The oldest change that stays is the one at the bound, counted from the newest.
  std::string incidents =
      "DELETE FROM incidents WHERE open = 0 AND change <= ifnull((SELECT change FROM incidents "
      "WHERE open = 0 ORDER BY change DESC LIMIT 1 OFFSET " +
      std::to_string(options_.closed_incidents_max) + "), -1)";
  return Run(incidents.c_str());
}

}  // namespace sentinel
