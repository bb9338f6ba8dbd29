#include "floor/lamp.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sentinel {
namespace {

constexpr double kTextOnLight = 0.35;  // above this brightness letters are dark on light
constexpr Color kLetterColor{200, 200, 200};
constexpr Duration kLifePeriod = std::chrono::seconds(6);
constexpr Color kLifeColor{0, 36, 30};
constexpr Color kBlinkColor{48, 48, 48};

double Cosine(Duration since, Duration period) {
  double part = static_cast<double>((since % period).count()) / static_cast<double>(period.count());
  return std::cos(2 * std::numbers::pi * part);
}

Color Scale(Color color, double level) {
  auto scale = [&](uint8_t part) { return static_cast<uint8_t>(std::lround(part * level)); };
  return {scale(color.red), scale(color.green), scale(color.blue)};
}

}  // namespace

double LightLevel(LightMode mode, Duration since_start) {
  if (since_start < Duration::zero()) return 0;
  switch (mode) {
    case LightMode::kOff:
      return 0;
    case LightMode::kSteady:
      return 1;
    case LightMode::kFlash:
      return since_start % kFlashPeriod < kFlashPeriod / 2 ? 1 : 0;
    case LightMode::kBreath:
      return kBreathLow + (1 - kBreathLow) * (1 + Cosine(since_start, kBreathPeriod)) / 2;
  }
  return 0;
}

void Lamp::Show(const Look& look, Instant now) {
  wanted_ = look;
  Settle(now);
}

void Lamp::Settle(Instant now) {
  if (wanted_ == look_) return;
  bool same_light =
      wanted_.kind == look_.kind && wanted_.color == look_.color && wanted_.mode == look_.mode;
  Instant last = same_light ? text_moved_ : light_moved_;
  if (now - last < kRiseGapMin) return;
  if (wanted_.text != look_.text) {
    strip_ = TextStrip(wanted_.text);
    text_start_ = now;
    text_moved_ = now;
  }
  if (!same_light) {
    light_start_ = now;
    light_moved_ = now;
  }
  look_ = wanted_;
}

Frame Lamp::Render(Instant now) {
  Settle(now);
  Frame frame{};
  double level = LightLevel(look_.mode, now - light_start_);
  bool lit = level >= kLitLevel;
  if (lit && !lit_) light_moved_ = now;
  lit_ = lit;
  Color light = Scale(look_.color, level);
  Color letters = level > kTextOnLight ? Color{} : kLetterColor;
  if (now < blink_until_) {
    light = {std::max(light.red, kBlinkColor.red), std::max(light.green, kBlinkColor.green),
             std::max(light.blue, kBlinkColor.blue)};
  }
  for (int y = 0; y < kFrameHeight; y++) {
    for (int x = 0; x < kFrameWidth; x++) {
      SetPixel(&frame, x, y, strip_.At(x, y, now - text_start_) ? letters : light);
    }
  }
  if (look_.kind == LookKind::kIdle && now >= blink_until_) {
    double life = 0.4 + 0.6 * (1 + Cosine(now.since_boot, kLifePeriod)) / 2;
    for (int y = 7; y <= 8; y++) {
      for (int x = 7; x <= 8; x++) SetPixel(&frame, x, y, Scale(kLifeColor, life));
    }
  }
  return frame;
}

}  // namespace sentinel
