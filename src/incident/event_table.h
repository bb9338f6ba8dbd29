// What every kind of event means: its level, its sentence, and how it ends. One table, and every
// row of it may be overridden by configuration.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "incident/speech_text.h"
#include "model/event.h"
#include "model/severity.h"
#include "model/verdict.h"

namespace sentinel {

enum class Language : uint8_t { kChinese, kEnglish };

// What a sender's `state: resolved` for this type tells about the job.
enum class Ending : uint8_t {
  kJobMoves,   // the fault *was* the standstill: its end is green
  kFaultGone,  // the part works again; whether the job moves is not said: light off
};

// A sentence with {rack} {host} {gpu} {util} {type} {job} {suspects} in it. What stands in [ ] is
// left out when a field in it is not known.
struct EventKind {
  Severity severity = Severity::kP1;
  std::string chinese;
  std::string english;
  Ending ending = Ending::kFaultGone;
  bool hides_host = false;  // while it lasts, faults of that host's parts are not told
  bool voice_hold = false;  // the light comes at once, the voice only if it has not healed by then

  std::string Sentence(Language language, const SpeechFields& fields) const;
};

class EventTable {
 public:
  EventTable();  // the defaults of the contract

  // Replaces or adds a row.
  void Set(std::string type, EventKind kind);
  void SetUnknown(EventKind kind) { unknown_ = std::move(kind); }
  void SetUnlocated(EventKind kind) { unlocated_ = std::move(kind); }
  // The event type that a verdict of this class is reported as. It must have a row.
  void SetTypeOf(HangClass hang_class, std::string type);
  const std::string& TypeOf(HangClass hang_class) const;

  // Whatever an event's type, utilisation below the floor makes it P0, job or not: what senders
  // written for the first gateway of this protocol may count on. Off: it does so for types without
  // a level of their own.
  void SetLowUtilisationIsP0(bool on) { low_utilisation_is_p0_ = on; }
  bool low_utilisation_is_p0() const { return low_utilisation_is_p0_; }

  // Nothing for a type that has no row.
  const EventKind* Find(std::string_view type) const;
  const EventKind& utilisation_drop() const;
  const EventKind& unknown() const { return unknown_; }
  const EventKind& unlocated() const { return unlocated_; }  // a hang whose place is not known

  // The row that speaks for this event: its own, else by whether it carries gpu_util.
  const EventKind& SpeakingFor(const Event& event) const;

 private:
  std::map<std::string, EventKind, std::less<>> kinds_;
  EventKind unknown_;
  EventKind unlocated_;
  std::array<std::string, kHangClasses> types_;  // by class
  bool low_utilisation_is_p0_ = false;
};

// Below this, in per cent, the cards of a running job stand still.
constexpr double kUtilisationFloor = 5.0;

enum class JobPresence : uint8_t { kUnknown, kNone, kRunning };

// How loud an event is, and why, for people. `presence`: what an agent says of jobs on that host.
struct Level {
  Severity severity = Severity::kP1;
  std::string_view why;
};
Level LevelOf(const EventTable& table, const Event& event, JobPresence presence);

}  // namespace sentinel
