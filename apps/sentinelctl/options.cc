// How an event is written on the command line.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <memory>

#include "base/length.h"
#include "command_line.h"

namespace sentinel {
namespace {

constexpr int kGpuMax = 65'535;

// A range lets what is no number at all pass.
std::string CheckIsNumber(const std::string& text) {
  return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is no number" : "";
}

}  // namespace

std::shared_ptr<EventOptions> AddEventOptions(CLI::App* command) {
  auto event = std::make_shared<EventOptions>();
  CLI::Option* body =
      command->add_option("--body", event->body, "The whole JSON body; -: from standard input");
  CLI::Option* type =
      command->add_option("type", event->type, "NCCL_TIMEOUT, XID_FATAL, RECOVERED, …");
  CLI::Option* host = command->add_option("host", event->host, "Host name")->needs(type);
  command->add_option("--rack", event->rack, "Rack label");
  command->add_option("--gpu", event->gpu, "Card number")->check(CLI::Range(0, kGpuMax));
  command->add_option("--util", event->util, "Utilisation in per cent")
      ->check(CLI::Range(0.0, 100.0))
      ->check(CheckIsNumber);
  command->add_option("--job", event->job, "Job id");
  command->add_option("--state", event->state, "firing or resolved")
      ->check(CLI::IsMember({"firing", "resolved"}));
  for (CLI::Option* option : command->get_options()) {
    if (option != body && option != command->get_help_ptr()) option->excludes(body);
  }
  // Before what is done with it.
  command->parse_complete_callback([event, command, body, host] {
    if (body->count() == 0 && host->count() == 0) {
      throw CLI::RequiredError(command->get_name() + ": an event type and a host, or --body");
    }
    if (event->body == "-") event->body.assign(std::istreambuf_iterator<char>(std::cin), {});
  });
  return event;
}

void AddBy(CLI::App* command, std::string* by) {
  command->add_option("--by", *by, "Who does it, for the audit trail (default: your user)");
}

std::string CheckLength(const std::string& text) {
  const Result<Duration> length = ParseLength(text);
  return length.ok() ? "" : length.error().message;
}

}  // namespace sentinel
