#include "terminal/config.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "config/config_file.h"
#include "config/folder_check.h"
#include "config/time_zone.h"
#include "config/toml_reader.h"
#include "floor/frame.h"
#include "http/config_address.h"
#include "speech/sound_sink.h"

namespace sentinel {
namespace {

constexpr uint16_t kTerminalPort = 8090;
constexpr uint16_t kGatewayPort = 8080;
constexpr double kQuietestDb = 60;

Error Unfit(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

Result<std::string> Path(const std::string& path) {
  if (!path.empty()) return path;
  return Unfit("a path is expected");
}

bool WritesFiles(const TerminalConfig& config) {
  return config.audio == AudioOutput::kWav ||
         (config.audio == AudioOutput::kAuto && !SoundCardPresent());
}

// What is there is overwritten by the first frame, be it a key or this configuration. A file of
// ours holds a frame, or nothing yet: it is written in one piece.
Status CheckFrame(const std::string& path) {
  struct stat found {};
  if (path.empty() || stat(path.c_str(), &found) != 0) return {};
  if (S_ISDIR(found.st_mode)) return NotHere("frame", path, "it is a folder");
  const auto size = static_cast<size_t>(found.st_size);
  if (!S_ISREG(found.st_mode) || size == kFrameBytes || size == 0) return {};
  return NotHere("frame", path,
                 "a file of " + std::to_string(size) + " bytes lies there, which is no frame (" +
                     std::to_string(kFrameBytes) + " bytes) and would be lost");
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
  reader->Parsed("wav_dir", Path, &config->wav_dir);
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

Result<TerminalConfig> ParseTerminalConfig(std::string_view text, const std::string& file,
                                           NamedFiles named) {
  TomlReader reader = TRY(TomlReader::Parse(text, file, named));
  TerminalConfig config;
  reader.Name("name", &config.name);
  reader.Parsed("listen", ServedAddress(kTerminalPort), &config.listen);
  reader.Parsed("gateway", CalledAddress(kGatewayPort), &config.gateway);
  reader.File("key_file", &config.key_file);
  reader.Choice<SignatureUse>(
      "protocol",
      {{"auto", SignatureUse::kAuto}, {"v1", SignatureUse::kV1Only}, {"v2", SignatureUse::kV2Only}},
      &config.signature);
  reader.Parsed("frame", Path, &config.frame);
  reader.Section("audio", [&config](TomlReader& audio) { ReadAudio(&audio, &config); });
  reader.Section("button", [&config](TomlReader& button) { ReadButton(&button, &config); });
  reader.Section("site", [&config](TomlReader& site) {
    site.Parsed(
        "timezone", [](const std::string& zone) { return ZoneName(zone); }, &config.timezone);
  });
  ReadTls(&reader, &config.tls);
  std::vector<Endpoint> called;
  if (config.gateway) called.push_back(*config.gateway);
  CheckTls(&reader, config.tls, {config.listen}, called);
  if (config.key_file.empty()) {
    reader.Wrong("key_file",
                 "it is missing: the file with the key and secret that the gateway signs with");
  }
  TRY(reader.Finish());
  return config;
}

Result<TerminalConfig> LoadTerminalConfig(const std::string& path) {
  const std::string text = TRY(ReadConfigFile(path));
  return ParseTerminalConfig(text, path, NamedFiles::kLookedFor);
}

Status CheckHere(const TerminalConfig& config) {
  TRY(CheckFrame(config.frame));
  if (!WritesFiles(config) || CheckFolder(config.wav_dir, 0).ok()) return {};
  const Status can_be_made = CheckWritable(config.wav_dir);
  if (can_be_made.ok()) return {};
  return NotHere("audio.wav_dir", config.wav_dir, can_be_made.error().message);
}

std::vector<std::string> WarningsHere(const TerminalConfig& config) {
  std::vector<Endpoint> called;
  if (config.gateway) called.push_back(*config.gateway);
  std::vector<std::string> warnings = AddressWarnings({config.listen}, called);
  if (config.audio == AudioOutput::kCard && !SoundCardPresent()) {
    warnings.push_back("audio.output = \"card\": this host has no sound card now");
  }
  const auto not_writable = [&warnings](const std::string& key, const std::string& folder) {
    const Status writable = CheckWritable(folder);
    if (!writable.ok()) warnings.push_back(key + ": " + writable.error().message);
  };
  if (WritesFiles(config)) not_writable("audio.wav_dir", config.wav_dir);
  struct stat found {};
  if (!config.frame.empty() && stat(config.frame.c_str(), &found) != 0) {
    const Status folder = CheckFolder(FolderOf(config.frame), W_OK | X_OK);
    if (!folder.ok()) {
      warnings.push_back("frame: " + FolderOf(config.frame) + ": " + folder.error().message);
    }
  }
  return warnings;
}

}  // namespace sentinel
