// What every kind of event means: its level, its sentence, and how it ends. One table, and every
// row of it may be overridden by configuration.
#pragma once

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
  bool voice_hold = false;  // the light comes at once, the voice only if it has not healed by then

  std::string Sentence(Language language, const SpeechFields& fields) const;
};

class EventTable {
 public:
  EventTable();  // the defaults of the contract

  // Replaces or adds a row.
  void Set(std::string type, EventKind kind);

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

// The event type a verdict of this class is reported as.
std::string_view EventTypeOf(HangClass hang_class);

}  // namespace sentinel
