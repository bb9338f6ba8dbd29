#include "store/backup.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace sentinel {
namespace {

constexpr int kBackupBusyMillis = 5000;
// A page copied is copied again if the writer gets in between: all of them in one go, in one read
// transaction, which holds up nobody in WAL mode.
constexpr int kAllPages = -1;

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
using Handle = std::unique_ptr<sqlite3, CloseDatabase>;

Error Wrong(const std::string& path, const std::string& what) {
  return {ErrorCode::kIo, path + ": " + what};
}

Error SqliteError(sqlite3* db, const std::string& path) {
  const int code = db == nullptr ? SQLITE_NOMEM : sqlite3_errcode(db);
  Error error = Wrong(path, db == nullptr ? "out of memory" : sqlite3_errmsg(db));
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) error.code = ErrorCode::kCorrupt;
  return error;
}

Result<Handle> Open(const std::string& path, int flags) {
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  Handle handle(db);
  if (code != SQLITE_OK) return SqliteError(db, path);
  sqlite3_busy_timeout(db, kBackupBusyMillis);
  return handle;
}

// The first column of the first row, as text.
Result<std::string> Ask(sqlite3* db, const std::string& path, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, nullptr) != SQLITE_OK) {
    return SqliteError(db, path);
  }
  Result<std::string> answer = Wrong(path, "no answer");
  if (sqlite3_step(statement) == SQLITE_ROW) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    answer = std::string(text == nullptr ? "" : text);
  } else {
    answer = SqliteError(db, path);
  }
  sqlite3_finalize(statement);
  return answer;
}

Status Copy(sqlite3* from, const std::string& from_path, sqlite3* to, const std::string& to_path) {
  sqlite3_backup* backup = sqlite3_backup_init(to, "main", from, "main");
  if (backup == nullptr) return SqliteError(to, to_path);
  const int step = sqlite3_backup_step(backup, kAllPages);
  const int finished = sqlite3_backup_finish(backup);
  if (step == SQLITE_DONE && finished == SQLITE_OK) return {};
  if (step == SQLITE_BUSY || step == SQLITE_LOCKED) return Wrong(from_path, "it is locked");
  return SqliteError(to, to_path);
}

Result<BackupReport> CheckAndCount(const std::string& path) {
  const Handle db = TRY(Open(path, SQLITE_OPEN_READWRITE));
  // One file: a copy of a file in WAL mode would want its side files.
  TRY(Ask(db.get(), path, "PRAGMA journal_mode=DELETE"));
  const std::string verdict = TRY(Ask(db.get(), path, "PRAGMA integrity_check(1)"));
  if (verdict != "ok") return Error{ErrorCode::kCorrupt, path + ": " + verdict};
  BackupReport report;
  const std::string events = TRY(Ask(db.get(), path, "SELECT count(*) FROM events"));
  const std::string incidents = TRY(Ask(db.get(), path, "SELECT count(*) FROM incidents"));
  report.events = std::stoull(events);
  report.incidents = std::stoull(incidents);
  return report;
}

Status SyncFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (synced) return {};
  return Wrong(path, std::strerror(error));
}

Result<BackupReport> BackUpTo(const std::string& from, const std::string& target) {
  // Made here, so that nobody else can read what is in it.
  const int fd = open(target.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return Wrong(target, std::strerror(errno));
  close(fd);
  {
    const Handle source = TRY(Open(from, SQLITE_OPEN_READONLY));
    const std::string version = TRY(Ask(source.get(), from, "PRAGMA user_version"));
    if (version == "0") {
      return Error{ErrorCode::kInvalidArgument, from + " is not a store of a gateway"};
    }
    const Handle copy = TRY(Open(target, SQLITE_OPEN_READWRITE));
    TRY(Copy(source.get(), from, copy.get(), target));
  }
  BackupReport report = TRY(CheckAndCount(target));
  TRY(SyncFile(target));
  struct stat made {};
  if (stat(target.c_str(), &made) == 0) report.bytes = static_cast<uint64_t>(made.st_size);
  return report;
}

}  // namespace

Result<BackupReport> BackUpStore(const std::string& from, const std::string& to) {
  struct stat found {};
  if (stat(from.c_str(), &found) != 0) {
    return Error{errno == EACCES ? ErrorCode::kDenied : ErrorCode::kNotFound,
                 from + ": " + std::strerror(errno)};
  }
  if (access(from.c_str(), R_OK) != 0) {
    return Error{ErrorCode::kDenied, from + ": " + std::strerror(errno)};
  }
  if (lstat(to.c_str(), &found) == 0) {
    return Error{ErrorCode::kInvalidArgument, to + " exists already; name another file"};
  }
  const std::string target = to + ".part-" + std::to_string(getpid());
  Result<BackupReport> report = BackUpTo(from, target);
  // A name that has come into being meanwhile is not overwritten.
  if (report.ok() && link(target.c_str(), to.c_str()) != 0) {
    report = Wrong(to, std::strerror(errno));
  }
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) unlink((target + suffix).c_str());
  return report;
}

}  // namespace sentinel
