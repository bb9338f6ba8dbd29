// One SQLite file: opened or rebuilt, brought to the current schema, rows in and out. Used by one
// thread at a time.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "base/result.h"
#include "store/store.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sentinel {

using StoreRow = std::variant<StoredEvent, StoredIncident, StoredNote, AuditRecord>;

class Database {
 public:
  // `moved_aside` receives where a corrupt file was put, if one was.
  static Result<std::unique_ptr<Database>> Open(const StoreOptions& options, WallTime now,
                                                std::string* moved_aside);
  // The file as it is, where nothing can be written: for Load alone. kNotFound if there is none.
  static Result<std::unique_ptr<Database>> OpenToRead(const StoreOptions& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // A transaction. After an error of Write or Commit: Rollback.
  Status Begin();
  Status Write(const StoreRow& row, WallTime now);
  Status Commit();
  void Rollback();

  // Drops what is beyond the bounds of the options. Inside a transaction.
  Status Prune();

  Result<StoreContents> Load();
  Result<std::vector<AuditRecord>> ReadAudit(size_t max);

 private:
  explicit Database(const StoreOptions& options) : options_(options) {}
  Status Connect();
  Status Migrate();
  Status Run(const char* sql);
  Status Prepare(const char* sql, sqlite3_stmt** statement);
  Status WriteEvent(const StoredEvent& event);
  Status WriteIncident(const StoredIncident& incident, WallTime now);
  Status WriteNote(const StoredNote& note);
  Status WriteAudit(const AuditRecord& record);
  template <typename Take>
  Status Each(const std::string& sql, Take take);
  Error LastError(const std::string& what) const;

  StoreOptions options_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_event_ = nullptr;
  sqlite3_stmt* put_incident_ = nullptr;
  sqlite3_stmt* put_note_ = nullptr;
  sqlite3_stmt* forget_note_ = nullptr;
  sqlite3_stmt* append_audit_ = nullptr;
  int64_t change_ = 0;  // counts incidents written: what is older, what is newer
};

}  // namespace sentinel
