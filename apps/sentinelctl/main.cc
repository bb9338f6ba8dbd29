// sentinelctl: an operator's hands on a gateway.
#include <signal.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "command_line.h"
#include "manual/manual.h"

namespace {

constexpr const char* kAbout = "Shows what a gateway knows, and tells it what you know.";

// What the library says where a command is missing, also where there is one that it does not know.
constexpr std::string_view kNoCommand = "A subcommand is required";

std::string CheckAddress(const std::string& text) {
  if (text.empty()) return "";  // this machine's
  const auto address = sentinel::ParseEndpoint(text, sentinel::GatewayClient::kPort);
  return address.ok() ? "" : address.error().message;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = sentinel::Utf8CharacterBytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

// What could not be written (a full disk, a closed descriptor) was not shown, whatever was done.
int Written(int code) {
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  if (std::cout.good() && flushed && std::ferror(stdout) == 0) return code;
  std::fputs("sentinelctl: the output cannot be written\n", stderr);
  return code == sentinel::kExitDone ? sentinel::kExitRefused : code;
}

sentinel::ManualNotes Notes() {
  sentinel::ManualNotes notes;
  notes.section = 1;
  notes.purpose = "an operator's hands on a GPU Sentinel gateway";
  notes.exit_codes = {
      {sentinel::kExitDone, "done"},
      {sentinel::kExitRefused,
       "refused or not known: by the gateway, a terminal, or what a file says; or the output "
       "cannot be written"},
      {sentinel::kExitCommandWrong, "the command line is wrong"},
      {sentinel::kExitUnreachable, "no gateway answers"}};
  notes.files = {
      {"/run/gpu-sentinel/gateway.sock",
       "the gateway of this host, asked where --gateway names none and the socket can be opened; "
       "else 127.0.0.1:8080"},
      {"/etc/gpu-sentinel/gateway.toml", "[access] says who has which role"}};
  notes.environment = {{"NO_COLOR", "set: no colour, as where output is no terminal"}};
  notes.examples = {{"sentinelctl incidents -w", "what is open, and every change from here on"},
                    {"sentinelctl ack 3f9c0a4b7d21e658", "acknowledge one incident"},
                    {"sentinelctl mute hall-1 --for 10m", "no voice in hall 1 for ten minutes"},
                    {"sentinelctl test lamp --terminal hall-1", "whether its lamp works"}};
  return notes;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_DFL);  // `sentinelctl … | head` ends us, as it should
  sentinel::CommandLine line;
  CLI::App app{kAbout, "sentinelctl"};
  app.set_version_flag("--version", SENTINEL_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--gateway", line.options.gateway,
                 "host[:port], tls:host[:port] or unix:/path (default: this machine's)")
      ->check(CheckAddress);
  app.add_option("--key", line.options.key_file,
                 "Sign with the keys of that file or folder: who you are to a gateway over TCP");
  app.add_option("--ca", line.options.tls.ca, "For tls:, the CA its certificate is to be of");
  CLI::Option* shown = app.add_option("--certificate", line.options.tls.certificate,
                                      "For tls:, the certificate to show");
  shown->needs(app.add_option("--certificate-key", line.options.tls.key, "Its key")->needs(shown));
  app.add_flag("--json", line.options.json, "The gateway's JSON, for programs");
  app.add_flag("!--no-color", line.options.colour,
               "Without colour (as where it is no terminal, or NO_COLOR is set)");
  app.add_flag("--english", line.options.english, "Evidence in English");
  sentinel::AddViews(&app, &line);
  sentinel::AddSend(&app, &line);
  sentinel::AddHands(&app, &line);
  sentinel::AddPolicy(&app, &line);
  sentinel::AddConfig(&app, &line);
  sentinel::AddBackup(&app, &line);
  sentinel::AddKey(&app, &line);
  sentinel::AddCa(&app, &line);
  sentinel::AddCompletion(&app, &line);
  sentinel::AddManual(&app, Notes());
  for (int i = 1; i < argc; ++i) {
    if (IsUtf8(argv[i])) continue;
    // Sent as it is it would fit no host, and nobody would be told.
    std::fprintf(stderr,
                 "argument %d is not UTF-8, as all names are: set the terminal to UTF-8\n"
                 "Run with --help for more information.\n",
                 i);
    return sentinel::kExitCommandWrong;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return Written(app.exit(asked));
  } catch (const CLI::ParseError& wrong) {
    const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
    if (std::string_view(wrong.what()) == kNoCommand && !unknown.empty()) {
      std::fprintf(stderr, "there is no command '%s' here\nRun with --help for more information.\n",
                   unknown.front().c_str());
    } else {
      app.exit(wrong);
    }
    return sentinel::kExitCommandWrong;
  }
  return Written(line.run());
}
