// The manual page of a program, made of what its command line says of itself, so that the page
// cannot tell of an option that is not there. What a command line does not know is in ManualNotes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "manual/exit_codes.h"

namespace sentinel {

struct ManualNotes {
  int section = 8;      // 1: commands, 8: what runs a system
  std::string purpose;  // after the name, without a full stop
  std::vector<ExitCode> exit_codes;
  std::vector<std::pair<std::string, std::string>> files;        // path, what it is
  std::vector<std::pair<std::string, std::string>> environment;  // name, what it does
  std::vector<std::pair<std::string, std::string>> examples;     // command, what it does
};

// As man(7) macros.
std::string ManualPage(const CLI::App& app, const ManualNotes& notes);

// Exit codes at the end of --help, and a --man that prints the page: for the build, which installs
// it. Call it when `app` is whole.
void AddManual(CLI::App* app, ManualNotes notes);

// An option as it is written: "--for TEXT", "-w, --watch", "[incident ...]".
std::string OptionWords(const CLI::Option& option);
// Those that are shown: not the ones a program passes to itself.
std::vector<const CLI::Option*> ShownOptions(const CLI::App& app);
std::vector<const CLI::App*> ShownCommands(const CLI::App& app);
// The words of a closed set that an option takes; empty: it takes others.
std::vector<std::string> ChoicesOf(const CLI::Option& option);
bool TakesValue(const CLI::Option& option);

}  // namespace sentinel
