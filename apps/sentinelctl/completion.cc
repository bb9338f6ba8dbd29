// What a shell offers while a command is being written.
#include "manual/completion.h"

#include <cstdio>
#include <memory>
#include <string>

#include "command_line.h"

namespace sentinel {

void AddCompletion(CLI::App* app, CommandLine* line) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completion = app->add_subcommand(
      "completion", "A script that completes these commands, for a shell to source");
  completion->add_option("shell", *shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  completion->callback([app, shell, line] {
    line->run = [app, shell] {
      std::fputs((*shell == "bash" ? BashCompletion(*app) : ZshCompletion(*app)).c_str(), stdout);
      return kExitDone;
    };
  });
}

}  // namespace sentinel
