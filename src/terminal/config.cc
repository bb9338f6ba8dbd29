#include "terminal/config.h"

#include <algorithm>
#include <utility>

#include "config/config_file.h"
#include "config/toml_reader.h"

namespace sentinel {
namespace {

constexpr uint16_t kTerminalPort = 8090;
constexpr uint16_t kGatewayPort = 8080;
constexpr size_t kZoneBytesMax = 64;
constexpr double kQuietestDb = 60;

Error Unfit(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

// A zone's name is a path below the system's zone files; whether the zone exists is the reader's
// affair.
Result<std::string> ZoneName(const std::string& zone) {
  bool fits = !zone.empty() && zone.size() <= kZoneBytesMax && zone.front() != '/' &&
              zone.find("..") == std::string::npos &&
              std::all_of(zone.begin(), zone.end(), [](unsigned char c) {
                return isalnum(c) || c == '/' || c == '_' || c == '-' || c == '+';
              });
  if (fits) return zone;
  return Unfit("'" + zone + "' is not a zone's name such as Asia/Shanghai");
}

// Written as 0 for full and -12 for quiet.
void ReadDecibels(TomlReader* reader, std::string_view key, double* below_full) {
  double level = -*below_full;
  reader->Decimal(key, -kQuietestDb, 0, &level);
  *below_full = -level;
}

void ReadAudio(TomlReader* reader, TerminalConfig* config) {
  reader->Choice<AudioOutput>("output",
                              {{"auto", AudioOutput::kAuto},
                               {"card", AudioOutput::kCard},
                               {"wav", AudioOutput::kWav},
                               {"off", AudioOutput::kOff}},
                              &config->audio);
  reader->Text("wav_dir", &config->wav_dir);
  ReadDecibels(reader, "loud_db", &config->loud_below_full_db);
  ReadDecibels(reader, "normal_db", &config->normal_below_full_db);
}

void ReadButton(TomlReader* reader, TerminalConfig* config) {
  reader->Choice<ButtonFrom>(
      "from", {{"loopback", ButtonFrom::kLoopback}, {"network", ButtonFrom::kNetwork}},
      &config->button_from);
  reader->Flag("strict_mute", &config->strict_mute);
}

}  // namespace

Result<TerminalConfig> ParseTerminalConfig(std::string_view text, const std::string& file) {
  TomlReader reader = TRY(TomlReader::Parse(text, file));
  TerminalConfig config;
  const auto at = [](uint16_t port) {
    return [port](const std::string& address) { return ParseEndpoint(address, port); };
  };
  reader.Name("name", &config.name);
  reader.Parsed("listen", at(kTerminalPort), &config.listen);
  reader.Parsed("gateway", at(kGatewayPort), &config.gateway);
  reader.Text("key_file", &config.key_file);
  reader.Choice<SignatureUse>(
      "protocol",
      {{"auto", SignatureUse::kAuto}, {"v1", SignatureUse::kV1Only}, {"v2", SignatureUse::kV2Only}},
      &config.signature);
  reader.Text("frame", &config.frame);
  reader.Section("audio", [&config](TomlReader& audio) { ReadAudio(&audio, &config); });
  reader.Section("button", [&config](TomlReader& button) { ReadButton(&button, &config); });
  reader.Section(
      "site", [&config](TomlReader& site) { site.Parsed("timezone", ZoneName, &config.timezone); });
  ReadTls(&reader, &config.tls);
  std::vector<Endpoint> called;
  if (config.gateway) called.push_back(*config.gateway);
  CheckTls(&reader, config.tls, {config.listen}, called);
  TRY(reader.Finish());
  if (config.key_file.empty()) {
    return Unfit(file +
                 ": key_file is missing: the file with the key and secret that the gateway "
                 "signs with");
  }
  return config;
}

Result<TerminalConfig> LoadTerminalConfig(const std::string& path) {
  const std::string text = TRY(ReadConfigFile(path));
  return ParseTerminalConfig(text, path);
}

}  // namespace sentinel
