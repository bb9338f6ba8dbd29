// The part of Database that reads: what a start needs, what somebody asks.
#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "store/database.h"
#include "store/statement.h"

namespace sentinel {

template <typename Take>
Status Database::Each(const std::string& sql, Take take) {
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
}

Result<std::vector<AuditRecord>> Database::ReadAudit(size_t max) {
  std::vector<AuditRecord> lines;
  TRY(Each(
      "SELECT at_ms, actor, origin, action, subject, detail FROM audit ORDER BY seq DESC LIMIT " +
          std::to_string(std::min(max, options_.audit_max)),
      [&](Statement& row) {
        // An action that a later version has written cannot be named here.
        std::optional<AuditAction> action = AuditActionFromName(row.TextAt(3));
        if (!action) return;
        lines.push_back({WallTime{std::chrono::milliseconds(row.IntegerAt(0))},
                         {row.TextAt(1), row.TextAt(2)},
                         *action,
                         row.TextAt(4),
                         row.TextAt(5)});
      }));
  return lines;
}

Result<StoreContents> Database::Load() {
  StoreContents contents;
  TRY(Each("SELECT id, document FROM incidents WHERE open = 1 ORDER BY change",
           [&](Statement& row) {
             contents.open_incidents.push_back({row.TextAt(0), true, row.TextAt(1)});
           }));
  TRY(Each("SELECT id, document FROM incidents WHERE open = 0 ORDER BY change DESC LIMIT " +
               std::to_string(options_.closed_incidents_loaded_max),
           [&](Statement& row) {
             contents.closed_incidents.push_back({row.TextAt(0), false, row.TextAt(1)});
           }));
  TRY(Each("SELECT name, value FROM notes",
           [&](Statement& row) { contents.notes[row.TextAt(0)] = row.TextAt(1); }));
  TRY(Each("SELECT event_id, incident FROM events WHERE named = 1 ORDER BY seq DESC LIMIT " +
               std::to_string(options_.event_ids_loaded_max),
           [&](Statement& row) {
             contents.event_ids.push_back({row.TextAt(0), row.TextAt(1)});
           }));
  const std::string& note = contents.notes[kBegunKeptNote];
  std::string kept = std::to_string(std::strtoull(note.c_str(), nullptr, 10));
  TRY(Each("SELECT max(" + kept + ", ifnull(max(begun), 0)) FROM events",
           [&](Statement& row) { contents.begun_last = static_cast<uint64_t>(row.IntegerAt(0)); }));
  TRY(Each(
      "SELECT incident, begun, occurrence, received_ms, body FROM events WHERE begun > " + kept +
          " AND NOT EXISTS (SELECT 1 FROM incidents WHERE id = events.incident) "
          "ORDER BY seq DESC LIMIT " +
          std::to_string(options_.begun_loaded_max),
      [&](Statement& row) {
        contents.begun_incidents.push_back({row.TextAt(0), static_cast<uint64_t>(row.IntegerAt(1)),
                                            static_cast<uint64_t>(row.IntegerAt(2)),
                                            WallTime{std::chrono::milliseconds(row.IntegerAt(3))},
                                            row.TextAt(4)});
      }));
  std::reverse(contents.begun_incidents.begin(), contents.begun_incidents.end());
  return contents;
}

}  // namespace sentinel
