// The light itself: from a colour and a mode to pixels, at any moment.
//
// The whole matrix is the lamp. Letters are cut out of the light while it is bright and are lit
// while it is dark, so a flashing lamp can be read in both halves. Whatever is asked of it, the
// light neither rises nor changes its look more often than three times a second.
#pragma once

#include <string>

#include "base/time.h"
#include "floor/frame.h"
#include "floor/matrix_text.h"
#include "model/terminal_message.h"

namespace sentinel {

constexpr Duration kFlashPeriod = std::chrono::milliseconds(500);  // 2 Hz, half on
constexpr Duration kBreathPeriod = std::chrono::seconds(4);
constexpr Duration kRiseGapMin = std::chrono::milliseconds(334);  // between two flashes of any kind
constexpr double kBreathLow = 0.06;  // the darkest a breath gets: off would say something else
constexpr double kLitLevel = 0.5;    // from here on a lamp counts as lit

// Brightness 0..1. A flash begins with its lit half, a breath with its brightest moment: whoever
// looks when an alarm arrives sees light.
double LightLevel(LightMode mode, Duration since_start);

enum class LookKind : uint8_t {
  kIdle,       // a dim sign of life
  kBlind,      // monitoring is blind
  kRecovered,  // green, for a while
  kAlarm,
};

struct Look {
  LookKind kind = LookKind::kIdle;
  Color color;
  LightMode mode = LightMode::kOff;
  std::string text;  // for the matrix
  friend bool operator==(const Look&, const Look&) = default;
};

class Lamp {
 public:
  // Wants `look` from now on. The same look again changes nothing; another text alone leaves the
  // light's rhythm; another light starts anew, lit. At once, unless the light has changed or risen
  // (a text: changed) within kRiseGapMin: then when that has passed, and only the newest is shown.
  void Show(const Look& look, Instant now);
  // One short dim blink over whatever is shown: "heard you, nothing to do".
  void Blink(Instant now) { blink_until_ = now + kBlink; }

  Frame Render(Instant now);
  // Whether the lamp was lit in the frame rendered last.
  bool lit() const { return lit_; }
  const Look& look() const { return wanted_; }
  // What the frame rendered last shows: the look asked for, or still the one before.
  const Look& shown() const { return look_; }

 private:
  void Settle(Instant now);

  static constexpr Duration kBlink = std::chrono::milliseconds(400);

  Look wanted_;
  Look look_;
  TextStrip strip_;
  Instant light_start_;
  Instant text_start_;
  Instant light_moved_{Duration(-kRiseGapMin)};  // rose or became another
  Instant text_moved_{Duration(-kRiseGapMin)};
  Instant blink_until_;
  bool lit_ = false;
};

}  // namespace sentinel
