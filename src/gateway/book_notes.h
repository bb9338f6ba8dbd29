// What the book of incidents remembers besides incidents, as notes in the store: silences, mutes,
// which sources come and go, and whether the night has had its digest. And the audit trail.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/time.h"
#include "incident/incident_book.h"
#include "model/audit.h"
#include "store/store.h"

namespace sentinel {

class BookNotes {
 public:
  using Notes = std::map<std::string, std::string>;  // by name, as the store has them

  // Both outlive this object.
  BookNotes(IncidentBook& book, Store& store) : book_(book), store_(store) {}

  // Before the book takes its incidents back: these decide what of them is quiet.
  void RestoreSilences(const Notes& notes, Moment now);
  void RestoreFlaps(const Notes& notes, Moment now);
  // After: the end of a mute reminds of what burns.
  void RestoreMutes(const Notes& notes, Moment now);
  // After that: a terminal that is muted is told nothing.
  void RestoreDigest(const Notes& notes, Moment now);

  void Keep(const IncidentBook::Actions& actions);
  // Of what somebody did that is no act of the book.
  void KeepAct(const AuditRecord& line);

 private:
  void KeepMutes();

  IncidentBook& book_;
  Store& store_;
  std::set<std::string> mutes_kept_;  // terminals of which the store has a mute
};

}  // namespace sentinel
