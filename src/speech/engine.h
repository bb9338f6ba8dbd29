// Who turns a run into sound.
//
// Blocking; for the speaker's worker thread.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "speech/pcm.h"
#include "speech/runs.h"

namespace sentinel {

class SpeechEngine {
 public:
  virtual ~SpeechEngine() = default;
  // The run at full volume with no silence around it. kNotFound: the engine is not installed.
  virtual Result<Pcm> Synthesise(const SpeechRun& run) = 0;
};

// espeak-ng as a child process, one per run, text on its standard input. Linking it would put the
// whole product under its licence.
class EspeakEngine : public SpeechEngine {
 public:
  explicit EspeakEngine(std::string program = "espeak-ng") : program_(std::move(program)) {}
  Result<Pcm> Synthesise(const SpeechRun& run) override;

 private:
  std::string program_;
};

constexpr size_t kSpeechCacheBytesMax = 16u << 20;  // about six minutes of speech

// Remembers what has been made. Beyond the bound the run used longest ago is forgotten; failures
// are not remembered.
class CachingEngine : public SpeechEngine {
 public:
  explicit CachingEngine(std::unique_ptr<SpeechEngine> inner,
                         size_t bytes_max = kSpeechCacheBytesMax)
      : inner_(std::move(inner)), bytes_max_(bytes_max) {}
  Result<Pcm> Synthesise(const SpeechRun& run) override;

 private:
  using Key = std::pair<Voice, std::string>;
  struct Entry {
    Key key;
    Pcm pcm;
  };

  std::unique_ptr<SpeechEngine> inner_;
  size_t bytes_max_;
  size_t bytes_ = 0;
  std::list<Entry> entries_;  // newest use first
  std::map<Key, std::list<Entry>::iterator> places_;
};

}  // namespace sentinel
