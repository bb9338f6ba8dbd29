// A terminal's configuration file (docs/formats/terminal.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/toml_reader.h"
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

// kInvalidArgument with file:line:column, what is wrong and what is allowed. The files that it
// names are looked for where it is loaded.
Result<TerminalConfig> ParseTerminalConfig(std::string_view text, const std::string& file,
                                           NamedFiles named = NamedFiles::kTaken);
Result<TerminalConfig> LoadTerminalConfig(const std::string& path);

// What the start refuses of this host: a `frame` that is a folder, or a file that is no frame and
// would be overwritten; a folder for speech that cannot be made. Makes nothing.
Status CheckHere(const TerminalConfig& config);
// What may keep it from starting or from being heard, in words: addresses that this host does not
// have now, a gateway whose name does not resolve now (it is asked for again with every attempt), a
// card or a folder that is not there. Asks the host's resolver, which may take its time.
std::vector<std::string> WarningsHere(const TerminalConfig& config);

}  // namespace sentinel
