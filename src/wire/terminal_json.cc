#include "wire/terminal_json.h"

#include <charconv>
#include <optional>
#include <utility>

#include "wire/strict_json.h"

namespace sentinel {
namespace {

constexpr size_t kTextBytesMax = 4096;
constexpr int kRepeatMax = 100;

std::optional<LightMode> LightModeFromName(std::string_view name) {
  for (LightMode mode :
       {LightMode::kFlash, LightMode::kBreath, LightMode::kSteady, LightMode::kOff}) {
    if (LightModeName(mode) == name) return mode;
  }
  return std::nullopt;
}

std::optional<AudioMode> AudioModeFromName(std::string_view name) {
  for (AudioMode mode : {AudioMode::kCycle, AudioMode::kOnce, AudioMode::kOff}) {
    if (AudioModeName(mode) == name) return mode;
  }
  return std::nullopt;
}

class MessageMembers final : public JsonMembers {
 public:
  Status Take(const std::string& key, JsonValue value) override {
    bool text = value.kind == JsonValue::Kind::kString;
    if (key == "text") {
      if (!text || value.text.size() > kTextBytesMax) {
        return WrongMember(key, "a string of at most " + std::to_string(kTextBytesMax) + " bytes");
      }
      text_ = std::move(value.text);
    } else if (key == "color") {
      if (!text) return WrongMember(key, "\"#RRGGBB\"");
      color_ = TRY(ParseColor(value.text));
    } else if (key == "light_mode") {
      if (text) light_mode_ = LightModeFromName(value.text);
      if (!light_mode_) return WrongMember(key, "flash, breath, steady or off");
    } else if (key == "audio_mode") {
      if (text) audio_mode_ = AudioModeFromName(value.text);
      if (!audio_mode_) return WrongMember(key, "cycle, once or off");
    } else if (key == "repeat_times") {
      if (value.kind != JsonValue::Kind::kInteger || value.integer < 0 ||
          value.integer > kRepeatMax) {
        return WrongRepeat();
      }
      repeat_times_ = static_cast<int>(value.integer);
    }
    return {};
  }

  Result<TerminalMessage> Finish() && {
    if (!text_) return Missing("text");
    if (!color_) return Missing("color");
    if (!light_mode_) return Missing("light_mode");
    if (!audio_mode_) return Missing("audio_mode");
    if (!repeat_times_) return Missing("repeat_times");
    // Some senders say of silence that it is heard no time at all.
    if (*repeat_times_ == 0 && *audio_mode_ != AudioMode::kOff) return WrongRepeat();
    TerminalMessage message;
    message.text = *std::move(text_);
    message.color = *color_;
    message.light_mode = *light_mode_;
    message.audio_mode = *audio_mode_;
    message.repeat_times = *repeat_times_;
    return message;
  }

 private:
  static Error Missing(const std::string& key) {
    return Error{ErrorCode::kInvalidArgument, key + " is missing"};
  }
  static Error WrongRepeat() {
    return WrongMember("repeat_times", "an integer from 1 to " + std::to_string(kRepeatMax) +
                                           ", or 0 with audio_mode off");
  }

  std::optional<std::string> text_;
  std::optional<Color> color_;
  std::optional<LightMode> light_mode_;
  std::optional<AudioMode> audio_mode_;
  std::optional<int> repeat_times_;
};

}  // namespace

std::string WriteTerminalMessage(const TerminalMessage& message) {
  std::string out = R"({"text":)";
  out += JsonString(message.text);
  out += R"(,"color":")";
  out += ColorHex(message.color);
  out += R"(","light_mode":")";
  out += LightModeName(message.light_mode);
  out += R"(","audio_mode":")";
  out += AudioModeName(message.audio_mode);
  out += R"(","repeat_times":)";
  out += std::to_string(message.repeat_times);
  out += '}';
  return out;
}

Result<TerminalMessage> ParseTerminalMessage(std::string_view body) {
  MessageMembers members;
  TRY(ReadJsonObject(body, &members));
  return std::move(members).Finish();
}

std::string ColorHex(Color color) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text = "#";
  for (uint8_t part : {color.red, color.green, color.blue}) {
    text += kDigits[part >> 4];
    text += kDigits[part & 15];
  }
  return text;
}

Result<Color> ParseColor(std::string_view text) {
  uint32_t rgb = 0;
  const char* end = text.data() + text.size();
  bool shaped = text.size() == 7 && text[0] == '#';
  if (shaped) {
    auto [stop, error] = std::from_chars(text.data() + 1, end, rgb, 16);
    shaped = error == std::errc() && stop == end;
  }
  if (!shaped) return WrongMember("color", "\"#RRGGBB\"");
  Color color;
  color.red = static_cast<uint8_t>(rgb >> 16);
  color.green = static_cast<uint8_t>(rgb >> 8);
  color.blue = static_cast<uint8_t>(rgb);
  return color;
}

}  // namespace sentinel
