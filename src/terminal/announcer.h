// The floor's speech orders carried out, and what became of them told on the terminal's own thread.
//
// Keeps the last sentences as sound, for the page.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/time.h"
#include "floor/speech_queue.h"
#include "speech/speaker.h"

namespace sentinel {

constexpr size_t kSoundsKept = 8;  // for the page; about a megabyte each at most

struct AnnouncerOptions {
  double loud_below_full_db = 1;
  double normal_below_full_db = 9;
  std::string sound_prefix;  // of sounds' names: what tells this run's from an earlier one's
};

struct SpeechEvent {
  enum class Kind { kBegan, kReady, kEnded };
  Kind kind = Kind::kBegan;
  Say say;
  std::string sound;   // its name
  std::string spoken;  // the text as it is said
  Instant at;
};

class Announcer {
 public:
  // Without a sink the voice is off: every sentence ends at once. `listener` runs on `io`, never
  // from within Perform.
  Announcer(boost::asio::io_context& io, AnnouncerOptions options,
            std::unique_ptr<SpeechEngine> engine, std::unique_ptr<SoundSink> sink,
            std::function<void(const SpeechEvent&)> listener);
  ~Announcer();

  void Perform(const SpeechOrder& order);

  // "card", "wav", "off".
  std::string backend() const { return speaker_ ? speaker_->sink_name() : "off"; }
  // Why sentences cannot be made; empty while they can.
  const std::string& trouble() const { return trouble_; }
  // The sentence being heard now, or nullptr.
  const SpeechEvent* saying() const { return saying_ ? &*saying_ : nullptr; }
  // nullptr: there is no such sound, or it has been forgotten.
  std::shared_ptr<const Pcm> Sound(const std::string& name) const;

 private:
  struct Running {
    Say say;
    std::string sound;
    std::string spoken;
  };

  void Reported(const SpeechReport& report);
  void Tell(SpeechEvent::Kind kind, const Running& running, Instant at);

  boost::asio::io_context& io_;
  AnnouncerOptions options_;
  std::function<void(const SpeechEvent&)> listener_;
  std::map<uint64_t, Running> running_;
  std::deque<std::pair<std::string, std::shared_ptr<const Pcm>>> sounds_;
  std::optional<SpeechEvent> saying_;
  std::string trouble_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<Speaker> speaker_;  // last: its thread must end first
};

}  // namespace sentinel
