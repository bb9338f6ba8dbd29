#include "incident/lamp.h"

#include <utility>

namespace sentinel {
namespace {

constexpr Color kRed{0xFF, 0x00, 0x00};
constexpr Color kOrange{0xFF, 0xA5, 0x00};
constexpr Color kGreen{0x00, 0xFF, 0x00};
constexpr int kCriticalRepeats = 3;

}  // namespace

TerminalMessage AlarmMessage(Severity severity, std::string text) {
  switch (severity) {
    case Severity::kP0:
      return {std::move(text), kRed, LightMode::kFlash, AudioMode::kCycle, kCriticalRepeats};
    case Severity::kP1:
      return {std::move(text), kOrange, LightMode::kBreath, AudioMode::kOnce, 1};
    case Severity::kNormal:
    case Severity::kNotice:
      break;
  }
  return {std::move(text), Color{}, LightMode::kOff, AudioMode::kOff, 1};
}

TerminalMessage LightMessage(Severity severity, bool acknowledged, std::string text) {
  TerminalMessage message = AlarmMessage(severity, std::move(text));
  message.audio_mode = AudioMode::kOff;
  message.repeat_times = 1;
  if (acknowledged && message.light_mode != LightMode::kOff) {
    message.light_mode = LightMode::kSteady;
  }
  return message;
}

TerminalMessage RecoveredMessage(const EventTable& table, Language language) {
  const EventKind* kind = table.Find("RECOVERED");
  std::string text;
  if (kind != nullptr) text = language == Language::kChinese ? kind->chinese : kind->english;
  return {std::move(text), kGreen, LightMode::kSteady, AudioMode::kOnce, 1};
}

TerminalMessage OffMessage(Language language) {
  return {language == Language::kChinese ? "告警已关闭" : "Alarm closed", Color{}, LightMode::kOff,
          AudioMode::kOff, 1};
}

std::string UnstableText(Language language) {
  return language == Language::kChinese ? "，反复出现，状态不稳" : ", it comes and goes";
}

std::string DigestText(Language language, size_t open, const std::string& worst) {
  const std::string count = std::to_string(open);
  if (language == Language::kChinese) return "当前未恢复告警 " + count + " 项，" + worst;
  return (open == 1 ? "1 alarm is" : count + " alarms are") + std::string(" still open. ") + worst;
}

TerminalMessage UnderLightOf(TerminalMessage message, const TerminalMessage& burning) {
  message.color = burning.color;
  message.light_mode = burning.light_mode;
  if (message.audio_mode == AudioMode::kOff) message.text = burning.text;
  return message;
}

}  // namespace sentinel
