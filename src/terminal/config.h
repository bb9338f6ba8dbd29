// A terminal's configuration file (docs/formats/terminal.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"
#include "http/request_authenticator.h"
#include "http/tls_config.h"

namespace sentinel {

enum class AudioOutput {
  kAuto,  // the card if there is one, else WAV files
  kCard,
  kWav,
  kOff,
};

// From where the page's button may be pressed without a signature.
enum class ButtonFrom { kLoopback, kNetwork };

struct TerminalConfig {
  std::string name = "terminal";
  Endpoint listen{"127.0.0.1", 8090, false};
  std::optional<Endpoint> gateway;  // none: nobody to tell of a press, and never blind
  std::string key_file;
  SignatureUse signature = SignatureUse::kAuto;
  TlsConfig tls;
  std::string frame;  // file, FIFO or device for raw frames; empty: the page alone
  AudioOutput audio = AudioOutput::kAuto;
  std::string wav_dir = "/var/lib/gpu-sentinel/speech";
  double loud_below_full_db = 1;    // P0
  double normal_below_full_db = 9;  // everything else
  ButtonFrom button_from = ButtonFrom::kLoopback;
  bool strict_mute = false;
  std::string timezone = "UTC";
};

// kInvalidArgument with file:line:column, what is wrong and what is allowed.
Result<TerminalConfig> ParseTerminalConfig(std::string_view text, const std::string& file);
Result<TerminalConfig> LoadTerminalConfig(const std::string& path);

}  // namespace sentinel
