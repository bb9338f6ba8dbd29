#include "terminal/config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>
#include <utility>
#include <vector>

namespace sentinel {
namespace {

constexpr uint16_t kTerminalPort = 8090;
constexpr uint16_t kGatewayPort = 8080;
constexpr size_t kNameBytesMax = 64;
constexpr double kQuietestDb = 60;

// What a key of one table does with its value; an error is in words without a place.
struct Setting {
  std::string_view key;
  std::function<Status(const toml::node&)> take;
};
using Settings = std::vector<Setting>;

Error Wrong(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

Error At(const std::string& file, const toml::source_region& where, const std::string& what) {
  return Wrong(file + ":" + std::to_string(where.begin.line) + ":" +
               std::to_string(where.begin.column) + ": " + what);
}

Status Apply(const toml::table& table, const Settings& settings, const std::string& file) {
  for (const auto& [key, node] : table) {
    std::string_view name = key.str();
    auto setting = std::find_if(settings.begin(), settings.end(),
                                [name](const Setting& s) { return s.key == name; });
    if (setting == settings.end()) {
      std::string allowed;
      for (const Setting& s : settings)
        allowed += (allowed.empty() ? "" : ", ") + std::string(s.key);
      return At(file, key.source(),
                "unknown key '" + std::string(name) + "'; allowed here: " + allowed);
    }
    Status taken = setting->take(node);
    if (taken.ok()) continue;
    // A table has reported its own place already.
    if (node.is_table()) return taken;
    return At(file, node.source(), std::string(name) + ": " + taken.error().message);
  }
  return {};
}

Result<std::string> Text(const toml::node& node) {
  if (!node.is_string()) return Wrong("a string is expected");
  return node.as_string()->get();
}

Setting TextInto(std::string_view key, std::string* out) {
  return {key, [out](const toml::node& node) -> Status {
            *out = TRY(Text(node));
            return {};
          }};
}

Setting FlagInto(std::string_view key, bool* out) {
  return {key, [out](const toml::node& node) -> Status {
            if (!node.is_boolean()) return Wrong("true or false is expected");
            *out = node.as_boolean()->get();
            return {};
          }};
}

Setting DecibelsInto(std::string_view key, double* out) {
  return {key, [out](const toml::node& node) -> Status {
            std::optional<double> value = node.value<double>();
            if (!value || *value > 0 || *value < -kQuietestDb) {
              return Wrong("decibels from -60 to 0 are expected");
            }
            *out = -*value;
            return {};
          }};
}

template <typename Enum>
Setting ChoiceInto(std::string_view key, std::vector<std::pair<std::string_view, Enum>> choices,
                   Enum* out) {
  return {key, [choices, out](const toml::node& node) -> Status {
            std::string text = TRY(Text(node));
            std::string allowed;
            for (const auto& [name, value] : choices) {
              if (name == text) {
                *out = value;
                return {};
              }
              allowed += (allowed.empty() ? "" : ", ") + std::string(name);
            }
            return Wrong("'" + text + "' is not one of " + allowed);
          }};
}

Setting Section(std::string_view key, const std::string& file, Settings settings) {
  return {key, [settings = std::move(settings), &file](const toml::node& node) -> Status {
            if (!node.is_table()) return Wrong("a table is expected");
            return Apply(*node.as_table(), settings, file);
          }};
}

Status CheckName(const std::string& name) {
  bool fits = !name.empty() && name.size() <= kNameBytesMax &&
              std::all_of(name.begin(), name.end(), [](unsigned char c) {
                return isalnum(c) || c == '-' || c == '_' || c == '.';
              });
  if (fits) return {};
  return Wrong("1 to 64 letters, digits, '-', '_' and '.' are expected");
}

// A zone's name is a path below the system's zone files; whether the zone exists is the reader's
// affair.
Status CheckZone(const std::string& zone) {
  bool fits = !zone.empty() && zone.size() <= kNameBytesMax && zone.front() != '/' &&
              zone.find("..") == std::string::npos &&
              std::all_of(zone.begin(), zone.end(), [](unsigned char c) {
                return isalnum(c) || c == '/' || c == '_' || c == '-' || c == '+';
              });
  if (fits) return {};
  return Wrong("'" + zone + "' is not a zone's name such as Asia/Shanghai");
}

Settings AllSettings(TerminalConfig* config, const std::string& file) {
  auto name = [config](const toml::node& node) -> Status {
    config->name = TRY(Text(node));
    return CheckName(config->name);
  };
  auto listen = [config](const toml::node& node) -> Status {
    std::string text = TRY(Text(node));
    config->listen = TRY(ParseEndpoint(text, kTerminalPort));
    return {};
  };
  auto gateway = [config](const toml::node& node) -> Status {
    std::string text = TRY(Text(node));
    config->gateway = TRY(ParseEndpoint(text, kGatewayPort));
    return {};
  };
  auto zone = [config](const toml::node& node) -> Status {
    config->timezone = TRY(Text(node));
    return CheckZone(config->timezone);
  };
  Settings audio = {
      ChoiceInto<AudioOutput>("output",
                              {{"auto", AudioOutput::kAuto},
                               {"card", AudioOutput::kCard},
                               {"wav", AudioOutput::kWav},
                               {"off", AudioOutput::kOff}},
                              &config->audio),
      TextInto("wav_dir", &config->wav_dir),
      DecibelsInto("loud_db", &config->loud_below_full_db),
      DecibelsInto("normal_db", &config->normal_below_full_db),
  };
  Settings button = {
      ChoiceInto<ButtonFrom>(
          "from", {{"loopback", ButtonFrom::kLoopback}, {"network", ButtonFrom::kNetwork}},
          &config->button_from),
      FlagInto("strict_mute", &config->strict_mute),
  };
  Settings site = {{"timezone", zone}};
  return {
      {"name", name},
      {"listen", listen},
      {"gateway", gateway},
      TextInto("key_file", &config->key_file),
      TextInto("frame", &config->frame),
      Section("audio", file, std::move(audio)),
      Section("button", file, std::move(button)),
      Section("site", file, std::move(site)),
  };
}

Result<toml::table> ParseToml(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return At(file, error.source(), std::string(error.description()));
  }
}

}  // namespace

Result<TerminalConfig> ParseTerminalConfig(std::string_view text, const std::string& file) {
  toml::table table = TRY(ParseToml(text, file));
  TerminalConfig config;
  TRY(Apply(table, AllSettings(&config, file), file));
  if (config.key_file.empty()) {
    return Wrong(file +
                 ": key_file is missing: the file with the key and secret that the gateway "
                 "signs with");
  }
  return config;
}

Result<TerminalConfig> LoadTerminalConfig(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{ErrorCode::kNotFound, path + ": cannot be read"};
  std::stringstream text;
  text << file.rdbuf();
  return ParseTerminalConfig(text.str(), path);
}

}  // namespace sentinel
