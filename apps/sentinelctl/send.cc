// One event, as any sender would post it.
#include <iostream>
#include <iterator>
#include <memory>

#include "command_line.h"

namespace sentinel {

void AddSend(CLI::App* app, CommandLine* line) {
  auto event = std::make_shared<EventOptions>();
  CLI::App* send = app->add_subcommand("send", "One event, as any sender would post it");
  CLI::Option* body =
      send->add_option("--body", event->body, "The whole JSON body; -: from standard input");
  CLI::Option* type =
      send->add_option("type", event->type, "NCCL_TIMEOUT, XID_FATAL, RECOVERED, …");
  CLI::Option* host = send->add_option("host", event->host, "Host name")->needs(type);
  send->add_option("--rack", event->rack, "Rack label");
  send->add_option("--gpu", event->gpu, "Card number")->check(CLI::NonNegativeNumber);
  send->add_option("--util", event->util, "Utilisation in per cent")->check(CLI::Range(0.0, 100.0));
  send->add_option("--job", event->job, "Job id");
  send->add_option("--state", event->state, "firing or resolved")
      ->check(CLI::IsMember({"firing", "resolved"}));
  for (CLI::Option* option : send->get_options()) {
    if (option != body && option != send->get_help_ptr()) option->excludes(body);
  }
  send->callback([event, line, body, host] {
    if (body->count() == 0 && host->count() == 0) {
      throw CLI::RequiredError("send: an event type and a host, or --body");
    }
    if (event->body == "-") event->body.assign(std::istreambuf_iterator<char>(std::cin), {});
    line->run = [event, line] { return Commands(line->options).Send(event->Body()); };
  });
}

}  // namespace sentinel
