// What the gateway must still know after a power cut: events, incidents, notes, and who did what.
// SQLite with a writer of its own.
//
// Writes are queued and committed together: one fsync serves all that arrived while the one before
// ran. A write is durable when its `done` says so, and not before. The store never stops the
// gateway: when the disk is full, read-only or broken every write completes with an error, and the
// store tries again by itself. Formats: docs/formats/store.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/result.h"
#include "base/time.h"
#include "model/audit.h"
#include "model/event.h"

namespace sentinel {

struct StoreOptions {
  std::string path;             // its folder must exist; the file is made with mode 0600
  size_t batch_rows_max = 256;  // of one commit
  Duration batch_wait_max = std::chrono::milliseconds(5);  // for more rows, while they keep coming
  size_t queue_rows_max = 8192;                            // not yet committed; beyond: kExhausted
  size_t queue_bytes_max = 64u << 20;                      // likewise
  Duration reopen_pause = std::chrono::seconds(5);         // between attempts with a broken file
  // Kept; beyond, the oldest go.
  size_t events_max = 200'000;
  size_t closed_incidents_max = 10'000;
  size_t audit_max = 10'000;
  // Loaded at start.
  size_t event_ids_loaded_max = 100'000;
  size_t closed_incidents_loaded_max = 100;
  size_t begun_loaded_max = 65'536;
};

struct StoredEvent {
  std::string event_id;
  bool named = false;  // by its sender: an id that is known already is no second row and no
                       // error; if it begins an incident it takes the place of the first
  WallTime received_at;
  Event event;           // its columns
  std::string incident;  // what it was folded into; may be empty
  std::string body;      // as it was posted
  // Rises with every incident that an event begins; 0: it began none. Such an incident need not
  // have a row of its own yet.
  uint64_t begun = 0;
  uint64_t occurrence = 0;  // of the incident it began
};

struct StoredIncident {
  std::string id;
  bool open = true;
  std::string document;  // JSON; the store does not look inside
};

// One of the few small things to know after a restart. One that is put with an empty value is gone.
struct StoredNote {
  std::string name;
  std::string value;
};
// The note that says up to which `begun` every incident has a row of its own.
constexpr const char* kBegunKeptNote = "begun_kept";

// An incident that has no row: the event that began it is all there is of it.
struct BegunIncident {
  std::string id;
  uint64_t begun = 0;
  uint64_t occurrence = 0;
  WallTime received_at;
  std::string body;
};

// An event that was named by its sender, by what the store calls it, and the incident it concerned.
struct KeptEventId {
  std::string event_id;
  std::string incident;

  bool operator==(const KeptEventId&) const = default;
};

// What a gateway starts from.
struct StoreContents {
  std::vector<StoredIncident> open_incidents;    // oldest first
  std::vector<StoredIncident> closed_incidents;  // newest first
  std::vector<BegunIncident> begun_incidents;    // oldest first
  uint64_t begun_last = 0;                       // the highest `begun` there has been
  std::map<std::string, std::string> notes;
  std::vector<KeptEventId> event_ids;  // newest first
};

struct StoreHealth {
  bool ok = true;
  std::string error;        // of the last write or opening that failed; kept for the record
  std::string moved_aside;  // where a corrupt file was put, the last time; empty: never
  uint64_t commits = 0;
  uint64_t rows = 0;
  uint64_t failed_rows = 0;
  uint64_t refused_rows = 0;  // the queue was full
  size_t queued_rows = 0;
};

// Questions to the store that wait for an answer; beyond it one is refused with kExhausted.
constexpr size_t kStoreReadsMax = 16;

class Store {
 public:
  using Done = std::function<void(Status)>;
  using AuditRead = std::function<void(Result<std::vector<AuditRecord>>)>;
  // Writes a text down, once, on the store's own thread, when its row's turn has come: it owns what
  // it reads.
  using Document = std::function<std::string()>;

  // Fails only for a start that is wrong: the folder is missing, or a later version wrote the file.
  // A file that is corrupt is moved aside (`<path>.corrupt-<unix ms>`) and a new one begun; a disk
  // that is full or read-only gives a store whose health says so. The io_context outlives the
  // store.
  static Result<std::unique_ptr<Store>> Open(boost::asio::io_context& io, StoreOptions options);
  // Commits what is queued; every `done` is then posted.
  virtual ~Store() = default;

  // `done` runs on the io_context, in the order of the calls, never from within the call: after the
  // commit that holds the row, or with the error. It may be empty.
  virtual void AppendEvent(StoredEvent event, Done done) = 0;
  // Each Put replaces what was stored under the id. `bytes`: about what `json_document` holds in
  // memory until then.
  virtual void PutIncident(std::string id, Document json_document, size_t bytes, bool open,
                           Done done) = 0;
  virtual void PutNote(StoredNote note, Done done) = 0;
  virtual void AppendAudit(AuditRecord record, Done done) = 0;

  // The newest `max` lines of the audit trail, newest first, with what was appended before unless
  // the writer is far behind. `done` runs on the io_context, never from within the call.
  virtual void ReadAudit(size_t max, AuditRead done) = 0;

  // Blocks; for the start. Where the disk takes nothing the file is read as it is; no file is an
  // empty one.
  virtual Result<StoreContents> Load() = 0;

  virtual StoreHealth health() const = 0;
};

}  // namespace sentinel
