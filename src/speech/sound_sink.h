// Where sound goes: the card of the machine, or WAV files where it has none.
//
// Blocking; for the speaker's worker thread. One sound at a time: Begin, Write …, then End or Cut.
#pragma once

#include <stdio.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "speech/child_process.h"
#include "speech/pcm.h"

namespace sentinel {

class SoundSink {
 public:
  virtual ~SoundSink() = default;

  virtual Status Begin(const std::string& name) = 0;
  // Takes what it has room for within `timeout`: how many samples.
  virtual Result<size_t> Write(const int16_t* samples, size_t count, Duration timeout) = 0;
  // All of it has been written. True once it has been heard, waiting at most `timeout`.
  virtual bool Drained(Duration timeout) = 0;
  // Silence now; what was not heard is not. Also how a drained sound is put away.
  virtual void Cut() = 0;
  virtual std::string name() const = 0;
};

// Through aplay, which knows every card; its death is an error of one sentence.
std::unique_ptr<SoundSink> MakeCardSink();

constexpr size_t kWavFilesMax = 32;  // kept in the directory; beyond: the oldest of ours is removed

// One file <name>.wav per sound, complete when it appears. Counts as heard after the sound's own
// length, so that repeats and gaps are those a person would hear; `paced` false leaves that out.
// The directory is made if it is missing.
Result<std::unique_ptr<SoundSink>> MakeWavSink(const std::string& directory, bool paced = true);

// Whether this machine has a sound card.
bool SoundCardPresent();

}  // namespace sentinel
