// sentinel-terminal: the lamp and the voice on the data-centre floor.
#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "http/key_file.h"
#include "light/frame_sink.h"
#include "speech/engine.h"
#include "speech/sound_sink.h"
#include "terminal/config.h"
#include "terminal/terminal.h"

namespace sentinel {
namespace {

struct Arguments {
  std::string config = "/etc/gpu-sentinel/terminal.toml";
  bool check = false;
  bool demo = false;
};

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

Status Serve(const TerminalConfig& config, KeyPair keys) {
  boost::asio::io_context io;
  TerminalParts parts;
  parts.keys = std::move(keys);
  parts.engine = std::make_unique<CachingEngine>(std::make_unique<EspeakEngine>());
  parts.sound = TRY(MakeSound(config));
  if (!config.frame.empty()) parts.light = MakeFileSink(config.frame);
  std::unique_ptr<Terminal> terminal = TRY(Terminal::Create(io, config, std::move(parts)));
  spdlog::info("event=started name={} listen={} port={} gateway={} boot_id={} version={}",
               config.name, config.listen.ToString(), terminal->port(),
               config.gateway ? config.gateway->ToString() : "none", terminal->boot_id(),
               SENTINEL_VERSION);
  boost::asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](boost::system::error_code, int number) {
    spdlog::info("event=stopping signal={}", number);
    terminal->Stop();
    io.stop();
  });
  io.run();
  return {};
}

Status Run(const Arguments& arguments) {
  TerminalConfig config = TRY(LoadTerminalConfig(arguments.config));
  SampleKey sample = arguments.demo ? SampleKey::kAllowed : SampleKey::kRefused;
  KeyPair keys = TRY(LoadKeyFile(config.key_file, sample));
  if (arguments.check) {
    std::printf("%s: ok\n", arguments.config.c_str());
    return {};
  }
  return Serve(config, std::move(keys));
}

}  // namespace
}  // namespace sentinel

int main(int argc, char** argv) {
  sentinel::Arguments arguments;
  CLI::App app("The lamp and the voice on the data-centre floor.", "sentinel-terminal");
  app.add_option("--config", arguments.config, "Configuration file (TOML)")->capture_default_str();
  app.add_flag("--check", arguments.check, "Check the configuration and the key file, then end");
  app.add_flag("--demo", arguments.demo, "Accept the published sample key and secret");
  app.set_version_flag("--version", SENTINEL_VERSION);
  CLI11_PARSE(app, argc, argv);

  spdlog::set_default_logger(spdlog::stderr_color_mt("sentinel-terminal"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%eZ level=%l %v", spdlog::pattern_time_type::utc);
  signal(SIGPIPE, SIG_IGN);
  sentinel::Status ran = sentinel::Run(arguments);
  if (ran.ok()) return 0;
  std::fprintf(stderr, "sentinel-terminal: %s\n", ran.error().message.c_str());
  return 1;
}
