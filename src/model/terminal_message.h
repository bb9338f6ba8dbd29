// What a lamp on the floor is told to do: the body of POST /api/v1/send_msg (shared contract,
// section 4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sentinel {

enum class LightMode : uint8_t { kFlash, kBreath, kSteady, kOff };
enum class AudioMode : uint8_t { kCycle, kOnce, kOff };

struct Color {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
  friend bool operator==(const Color&, const Color&) = default;
};

struct TerminalMessage {
  std::string text;
  Color color;
  LightMode light_mode = LightMode::kOff;
  AudioMode audio_mode = AudioMode::kOff;
  int repeat_times = 1;
  friend bool operator==(const TerminalMessage&, const TerminalMessage&) = default;
};

std::string_view LightModeName(LightMode mode);  // "flash" "breath" "steady" "off"
std::string_view AudioModeName(AudioMode mode);  // "cycle" "once" "off"

}  // namespace sentinel
