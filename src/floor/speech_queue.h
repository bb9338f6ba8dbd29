// What is said, and in which order. One voice: at most one sentence is being said at a time.
//
// The most severe goes first; within one level whoever has been heard least, so that a second alarm
// does not wait for three repeats of the first. A P0 interrupts what is less; the interrupted
// sentence is said again from its start when its turn comes. An incident has one place: its newer
// sentence replaces the older one, also in the middle of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/severity.h"

namespace sentinel {

enum class Loudness : uint8_t { kNormal, kLoud };

// Start this sentence.
struct Say {
  uint64_t id = 0;      // of this one utterance
  uint64_t serial = 0;  // of the message
  std::string text;
  Severity severity = Severity::kNotice;
  Loudness loudness = Loudness::kNormal;
};
// Stop it in the middle.
struct Hush {
  uint64_t id = 0;
};
using SpeechOrder = std::variant<Hush, Say>;

constexpr Duration kRepeatGap = std::chrono::milliseconds(1200);
// Sentences waiting; beyond it the least severe, oldest one is dropped.
constexpr size_t kSentencesMax = 32;

struct Sentence {
  std::string incident_id;
  uint64_t serial = 0;
  std::string text;
  Severity severity = Severity::kNotice;
  Loudness loudness = Loudness::kNormal;
  int times = 1;
  Instant not_before;
};

class SpeechQueue {
 public:
  void Add(Sentence sentence);
  void Drop(const std::string& incident_id);
  void DropAll();
  // Nobody says that all is well while something burns.
  void DropRecoveries();

  // What the voice has to do now, in order. Every Say is answered once with Finished, also after a
  // Hush and when it could not be spoken.
  std::vector<SpeechOrder> Due(Instant now);
  void Finished(uint64_t say_id, Instant now);

  // Whether the sentence of this message is being said or is the next to be said at `now`.
  bool Leads(uint64_t serial, Instant now) const;
  bool busy() const { return current_.has_value(); }
  size_t waiting() const { return items_.size(); }

 private:
  struct Item {
    Sentence sentence;
    int said = 0;
    uint64_t order = 0;
  };
  struct Current {
    uint64_t say_id = 0;
    uint64_t order = 0;  // of its item, which may have gone
    Severity severity = Severity::kNotice;
  };

  const Item* Next(Instant now) const;
  Item* Find(uint64_t order);

  std::vector<Item> items_;
  std::optional<Current> current_;
  uint64_t next_order_ = 1;
  uint64_t next_say_id_ = 1;
};

}  // namespace sentinel
