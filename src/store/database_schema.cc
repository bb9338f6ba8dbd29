// The part of Database that knows what its file looks like, and looked like before.
#include <sqlite3.h>

#include <array>
#include <string>

#include "store/database.h"
#include "store/statement.h"

namespace sentinel {
namespace {

// The schema, one step a version: PRAGMA user_version counts the steps taken. Steps are only added.
constexpr std::array kMigrations = {
    R"sql(
      CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        event_id TEXT NOT NULL,
        named INTEGER NOT NULL,
        received_ms INTEGER NOT NULL,
        rack TEXT NOT NULL,
        host TEXT NOT NULL,
        type TEXT NOT NULL,
        gpu INTEGER,
        util REAL,
        job TEXT NOT NULL,
        state TEXT NOT NULL,
        incident TEXT NOT NULL,
        begun INTEGER,
        occurrence INTEGER,
        body BLOB NOT NULL);
      CREATE UNIQUE INDEX events_by_id ON events (event_id) WHERE named = 1;
      CREATE TABLE incidents (
        id TEXT NOT NULL UNIQUE,
        open INTEGER NOT NULL,
        change INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        document TEXT NOT NULL);
      CREATE INDEX incidents_by_change ON incidents (open, change);
      CREATE TABLE notes (
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL) WITHOUT ROWID;
    )sql",
    R"sql(
      CREATE TABLE audit (
        seq INTEGER PRIMARY KEY,
        at_ms INTEGER NOT NULL,
        actor TEXT NOT NULL,
        origin TEXT NOT NULL,
        action TEXT NOT NULL,
        subject TEXT NOT NULL,
        detail TEXT NOT NULL);
      DELETE FROM notes WHERE value = '';
    )sql",
};

}  // namespace

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

}  // namespace sentinel
