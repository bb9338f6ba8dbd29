// What the book of incidents remembers of an incident beside what is kept and shown of it: what
// each terminal has been told, what is due when, and what it has to do with others.
//
// Internal to the book: nobody else includes it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/time.h"
#include "model/incident.h"
#include "model/job.h"

namespace sentinel {

// Who says that something is wrong: somebody's event, agents' progress, or we ourselves of a
// terminal or a host that is silent.
enum class IncidentSource : uint8_t { kEvent, kAgent, kOwn };

enum class IncidentAlarm : uint8_t { kLease, kVoice, kRepeat, kReconsider, kRecovered };
using IncidentTimer = std::tuple<Instant, std::string, IncidentAlarm>;  // when, which, what for

using BurningKey = std::tuple<int, uint64_t, std::string>;  // how loud, serial, id

// What one terminal has been told of one incident.
struct IncidentLamp {
  uint64_t sequence = 0;
  std::string pending;     // the newest notification not answered yet
  bool attempted = false;  // it may show something
  bool shown = false;      // it has answered to a light
  bool announced = false;  // it has spoken
  bool announced_p0 = false;
  std::optional<BurningKey> burning;  // its place among what burns there
  std::optional<Instant> window_from;
  std::optional<Instant> failed;
};

struct IncidentEntry {
  Incident incident;
  IncidentSource source = IncidentSource::kEvent;
  std::map<std::string, IncidentLamp> lamps;  // by terminal
  std::string host_key;                       // identity name
  std::string place;  // what the sentence names; a change of it is a correction
  std::optional<Instant> voice_at;
  std::optional<Instant> rang;       // when it was first told as P0: repeats count from there
  std::map<std::string, int> cards;  // beside its own, told with it: by their incidents
  std::string told_by;               // the incident that speaks for it; empty: it does itself
  bool turned_unstable = false;      // with this opening its source comes and goes too often
  std::vector<IncidentTimer> timers;
  uint64_t serial = 0;
  bool adoptable = false;               // from an earlier process, no verdict has claimed it yet
  std::string adopted_as;               // the identity of the verdict that claimed it
  JobFacts job;                         // of a hang
  std::optional<Instant> recovering;    // since when its job moves again
  std::string part_of;                  // the incident it is folded into; empty: none
  std::set<std::string> parts;          // incidents folded into it
  std::optional<Instant> hidden_until;  // its host is back: whether to tell is decided then
  std::string barred;                   // what of the job bars it from ringing; empty: nothing
  bool counted = false;
};

}  // namespace sentinel
