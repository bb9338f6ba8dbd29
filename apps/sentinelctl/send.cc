// One event, as any sender would post it.
#include "command_line.h"

namespace sentinel {

void AddSend(CLI::App* app, CommandLine* line) {
  CLI::App* send = app->add_subcommand("send", "One event, as any sender would post it");
  auto event = AddEventOptions(send);
  send->callback([event, line] {
    line->run = [event, line] { return Commands(line->options).Send(event->Body()); };
  });
}

}  // namespace sentinel
