// What an operator does to alarms and terminals.
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/length.h"
#include "command_line.h"
#include "ctl/hand_views.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;

struct HandsAsked {
  std::string by = UserName();
  std::string terminal;
  std::string what;
  std::string length;
  std::vector<std::string> incidents;
};

std::shared_ptr<HandsAsked> AskedOf(CLI::App* command) {
  auto asked = std::make_shared<HandsAsked>();
  AddBy(command, &asked->by);
  return asked;
}

void AddAck(CLI::App* app, CommandLine* line) {
  CLI::App* ack = app->add_subcommand(
      "ack",
      "Acknowledge incidents, or all of a terminal, or all there are: steady light, no repeats");
  auto asked = AskedOf(ack);
  CLI::Option* incidents = ack->add_option("incident", asked->incidents, "Their ids");
  ack->add_option("--terminal", asked->terminal, "All that burns there")->excludes(incidents);
  ack->callback([asked, line] {
    line->run = [asked, line] {
      Json body;
      if (!asked->incidents.empty()) {
        body["incidents"] = asked->incidents;
      } else if (!asked->terminal.empty()) {
        body["terminal"] = asked->terminal;
      } else {
        body["all"] = true;
      }
      return Commands(line->options).Do("/api/v1/ack", std::move(body), asked->by, AckView);
    };
  });
}

void AddMute(CLI::App* app, CommandLine* line) {
  CLI::App* mute =
      app->add_subcommand("mute", "No voice at a terminal for a while; its light stays");
  auto asked = AskedOf(mute);
  mute->add_option("terminal", asked->terminal, "Its name")->required();
  mute->add_option("--for", asked->length, "15m, 90s, … at most what a press of the button mutes")
      ->check(CheckLength);
  mute->callback([asked, line] {
    line->run = [asked, line] {
      Json body{{"terminal", asked->terminal}};
      if (!asked->length.empty()) body["for_ms"] = ToMillis(*ParseLength(asked->length));
      return Commands(line->options).Do("/api/v1/mute", std::move(body), asked->by, MuteView);
    };
  });
}

void AddUnmute(CLI::App* app, CommandLine* line) {
  CLI::App* unmute = app->add_subcommand(
      "unmute", "End a mute, also that of a pressed button; what burns is told once more");
  auto asked = AskedOf(unmute);
  unmute->add_option("terminal", asked->terminal, "Its name")->required();
  unmute->callback([asked, line] {
    line->run = [asked, line] {
      return Commands(line->options)
          .Do("/api/v1/unmute", {{"terminal", asked->terminal}}, asked->by, UnmuteView);
    };
  });
}

void AddTest(CLI::App* app, CommandLine* line) {
  CLI::App* test = app->add_subcommand(
      "test",
      "A message marked as a test to a real terminal: five seconds of light, or a sentence");
  auto asked = AskedOf(test);
  test->add_option("what", asked->what, "lamp or speech")
      ->required()
      ->check(CLI::IsMember({"lamp", "speech"}));
  test->add_option("--terminal", asked->terminal, "Its name")->required();
  test->callback([asked, line] {
    line->run = [asked, line] {
      return Commands(line->options)
          .Do("/api/v1/test", {{"terminal", asked->terminal}, {"what", asked->what}}, asked->by,
              TestView);
    };
  });
}

}  // namespace

void AddHands(CLI::App* app, CommandLine* line) {
  AddAck(app, line);
  AddMute(app, line);
  AddUnmute(app, line);
  AddTest(app, line);
}

}  // namespace sentinel
