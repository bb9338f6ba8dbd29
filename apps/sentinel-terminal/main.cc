// sentinel-terminal: the lamp and the voice on the data-centre floor.
#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/daemon.h"
#include "http/key_files.h"
#include "light/frame_sink.h"
#include "speech/engine.h"
#include "speech/sound_sink.h"
#include "terminal/config.h"
#include "terminal/terminal.h"

namespace sentinel {
namespace {

constexpr const char* kName = "sentinel-terminal";

Result<std::unique_ptr<SoundSink>> MakeSound(const TerminalConfig& config) {
  switch (config.audio) {
    case AudioOutput::kOff:
      return std::unique_ptr<SoundSink>();
    case AudioOutput::kCard:
      return MakeCardSink();
    case AudioOutput::kWav:
      return MakeWavSink(config.wav_dir);
    case AudioOutput::kAuto:
      if (SoundCardPresent()) return MakeCardSink();
      return MakeWavSink(config.wav_dir);
  }
  return std::unique_ptr<SoundSink>();
}

Result<TlsContexts> OpenTerminalTls(const TerminalConfig& config) {
  std::vector<Endpoint> called;
  if (config.gateway) called.push_back(*config.gateway);
  return OpenTls(config.tls, {config.listen}, called);
}

// The lamp runs all the same, and shows that it hears nobody.
void WarnOfNoKey(const KeyRing& keys, const std::string& path) {
  if (!keys.Active(WallNow()).empty()) return;
  spdlog::warn(
      "event=no_valid_key path=\"{}\" what=\"revoked, over or not yet valid: no gateway is "
      "believed\"",
      path);
}

Status Serve(const TerminalConfig& config, KeyFiles& files, const KeyRing& keys) {
  boost::asio::io_context io;
  TerminalParts parts;
  parts.keys = keys;
  parts.tls = TRY(OpenTerminalTls(config));
  parts.engine = std::make_unique<CachingEngine>(std::make_unique<EspeakEngine>());
  parts.sound = TRY(MakeSound(config));
  if (!config.frame.empty()) parts.light = MakeFileSink(config.frame);
  std::unique_ptr<Terminal> terminal = TRY(Terminal::Create(io, config, std::move(parts)));
  spdlog::info("event=started name={} listen={} port={} gateway={} boot_id={} version={}",
               config.name, config.listen.ToString(), terminal->port(),
               config.gateway ? config.gateway->ToString() : "none", terminal->boot_id(),
               SENTINEL_VERSION);
  const auto reload = [&] {
    Status reloaded = files.Reload();
    if (reloaded.ok()) {
      spdlog::info("event=keys_reloaded");
      WarnOfNoKey(keys, config.key_file);
    } else {
      spdlog::error("event=keys_not_reloaded why=\"{}\" what=\"those known stay in use\"",
                    reloaded.error().message);
    }
  };
  const auto stop = [&] {
    terminal->Stop();
    io.stop();
  };
  RunUntilSignal(io, stop, reload);
  return {};
}

Status Run(const DaemonArguments& arguments, SampleKey sample) {
  const TerminalConfig config = TRY(LoadTerminalConfig(arguments.config));
  KeyFiles files(sample);
  const KeyRing keys = TRY(files.Open(config.key_file));
  WarnOfNoKey(keys, config.key_file);
  TRY(CheckHere(config));
  if (arguments.check) {
    TRY(OpenTerminalTls(config));
    for (const std::string& warning : WarningsHere(config)) {
      std::fprintf(stderr, "%s: warning: %s\n", kName, warning.c_str());
    }
    std::printf("%s: ok\n", arguments.config.c_str());
    return {};
  }
  return Serve(config, files, keys);
}

}  // namespace
}  // namespace sentinel

int main(int argc, char** argv) {
  using namespace sentinel;
  CLI::App app("The lamp and the voice on the data-centre floor.", kName);
  DaemonArguments arguments;
  arguments.config = "/etc/gpu-sentinel/terminal.toml";
  bool demo = false;
  app.add_flag("--demo", demo, "Allow the published sample key, which everybody knows");
  ManualNotes notes;
  notes.purpose = "the lamp and the voice on the data-centre floor";
  notes.files = {{arguments.config, "configuration; every key is in docs/formats/terminal.md"},
                 {"/etc/gpu-sentinel/keys/*.key", "keys and secrets it shares with its gateway"}};
  if (const auto code = ReadArguments(&app, argc, argv, &arguments, std::move(notes))) return *code;
  StartLog(kName, arguments.log_level);
  const Status ran = Run(arguments, demo ? SampleKey::kAllowed : SampleKey::kRefused);
  if (ran.ok()) return kExitEnded;
  return StartFailed(kName, ran.error(),
                     "Correct the configuration or the file it names; `sentinel-terminal --check` "
                     "tells whether they are accepted.");
}
