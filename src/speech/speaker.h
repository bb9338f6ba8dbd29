// The voice: one worker thread that makes sentences and plays them, one at a time.
//
// The first run is played while the next are still being made, and a chime goes before it, so
// sound begins at once. Nothing here blocks the caller.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "speech/engine.h"
#include "speech/pcm.h"
#include "speech/runs.h"
#include "speech/sound_sink.h"

namespace sentinel {

struct Utterance {
  uint64_t id = 0;
  std::string name;  // of its WAV file
  std::vector<SpeechRun> runs;
  double below_full_db = 0;
};

struct SpeechReport {
  enum class Kind {
    kWarm,   // the engine has been tried; `error` if it does not work
    kBegan,  // the first samples have gone to the card or the file, at `at`
    kMade,   // `sound` is the whole sentence
    kEnded,  // heard, hushed or failed (`error`); the last report of an utterance, and there is one
  };
  Kind kind = Kind::kEnded;
  uint64_t id = 0;
  Instant at;
  std::shared_ptr<const Pcm> sound;
  std::string error;
};

constexpr size_t kUtterancesWaitingMax = 4;  // beyond: the oldest ends unheard

class Speaker {
 public:
  // `report` is called on the worker thread. `warm_up` is made and kept before it is needed,
  // whenever there is nothing to say.
  Speaker(std::unique_ptr<SpeechEngine> engine, std::unique_ptr<SoundSink> sink,
          std::vector<SpeechRun> warm_up, std::function<void(SpeechReport)> report);
  // Falls silent at once; what was not heard yet is not reported any more.
  ~Speaker();

  void Say(Utterance utterance);
  void Hush(uint64_t id);
  std::string sink_name() const { return sink_name_; }

 private:
  void Run();
  void Perform(const Utterance& utterance);
  bool Play(const Pcm& pcm, const Utterance& utterance, bool* began, std::string* error);
  bool Cancelled();
  void WarmUp();
  void Report(SpeechReport::Kind kind, uint64_t id, std::string error = "",
              std::shared_ptr<const Pcm> sound = nullptr);

  std::unique_ptr<SpeechEngine> engine_;
  std::unique_ptr<SoundSink> sink_;
  std::string sink_name_;
  std::deque<SpeechRun> warm_up_;
  bool warm_reported_ = false;
  std::function<void(SpeechReport)> report_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::deque<Utterance> waiting_;
  uint64_t current_ = 0;
  bool cancel_ = false;
  bool stop_ = false;

  std::thread worker_;  // last: it uses all of the above
};

}  // namespace sentinel
