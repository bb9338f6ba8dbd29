// What a terminal is: messages and presses of its button go in, frames and sentences come out.
//
// Pure: the caller brings the time, shows the frames and speaks the sentences. Nothing here waits;
// what must happen later happens in the next Render and Speech, which the caller asks for at the
// frame rate.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "floor/frame.h"
#include "floor/incident_table.h"
#include "floor/lamp.h"
#include "floor/message.h"
#include "floor/speech_queue.h"

namespace sentinel {

struct FloorOptions {
  // A gateway is expected to be heard from; without one the floor never says it is blind.
  bool gateway_expected = false;
  // While muted not even a new P0 is heard.
  bool strict_mute = false;
  // Of a press; the gateway that is told of it may shorten it.
  Duration mute = std::chrono::minutes(15);
  Duration blind_after = std::chrono::seconds(15);
  Duration green = std::chrono::seconds(10);
  Duration mute_break_gap = std::chrono::minutes(1);  // between new P0s heard while muted
};

class Floor {
 public:
  struct Taken {
    uint64_t serial = 0;  // names this message in Rendered and Say
    Disposition disposition = Disposition::kPlaying;
  };
  struct Press {
    bool acknowledged = false;           // false: nothing was open; a blink, no mute
    std::vector<std::string> incidents;  // what it covers; senders without incident ids leave none
  };
  struct Rendered {
    Frame frame;
    std::vector<uint64_t> lit;  // messages whose own light is lit in this frame
  };

  Floor(FloorOptions options, Instant now);

  Taken Accept(FloorMessage message, Instant now);
  Press Pressed(Instant now);
  // What the gateway remembers of a press that we have forgotten, or a mute by command: the longer
  // of it and our own stands.
  void Mute(Instant until, Instant now);
  // The gateway mutes a press for less long than we do. It cannot be lengthened so: an answer is
  // not signed by every gateway, and one that silences would be worth forging.
  void ShortenMute(Instant until);
  // By command. What still burns is told by the gateway.
  void Unmute();
  // Nothing that has come is said any further.
  void Hush() { speech_.DropAll(); }
  // Somebody who proved to be our gateway has spoken to us.
  void Heard(Instant now) { heard_ = now; }

  Rendered Render(Instant now);
  // What the voice has to do now. Every Say is answered once with Spoken.
  std::vector<SpeechOrder> Speech(Instant now);
  void Spoken(uint64_t say_id, Instant now) { speech_.Finished(say_id, now); }

  // The newest; the light may still show the one before, for at most kRiseGapMin.
  const Look& look() const { return lamp_.look(); }
  // Whether an incident other than `except` is open with this severity or a higher one.
  bool Burns(Severity at_least, const std::string& except) const;
  std::vector<const OpenIncident*> Open() const { return incidents_.Open(); }
  std::optional<Instant> muted_until() const { return muted_until_; }
  std::optional<Instant> heard() const { return heard_; }
  bool Blind(Instant now) const;
  bool speaking() const { return speech_.busy(); }

 private:
  struct Green {
    uint64_t serial = 0;
    Color color;
    LightMode mode = LightMode::kSteady;
    Instant until;
  };

  Look Choose(Instant now) const;
  Disposition Voice(const FloorMessage& message, uint64_t serial, bool acknowledged, Instant now);
  void EndMute(Instant now);

  FloorOptions options_;
  Instant started_;
  IncidentTable incidents_;
  SpeechQueue speech_;
  Lamp lamp_;
  std::optional<Green> green_;
  std::optional<Instant> heard_;
  std::optional<Instant> muted_until_;
  std::optional<Instant> mute_break_;  // when the next or last one is or was due
  uint64_t next_serial_ = 1;
};

}  // namespace sentinel
