// sentinelctl: an operator's hands on a gateway.
#include <signal.h>

#include <cstdio>
#include <functional>
#include <iostream>
#include <iterator>
#include <string>

#include <CLI/CLI.hpp>

#include "ctl/commands.h"
#include "gateway/config.h"

namespace {

constexpr const char* kAbout =
    "Shows what a gateway knows, and tells it what you know.\n\n"
    "Exit code: 0 done, 1 the gateway refused or does not know it, 2 the command line,\n"
    "3 no gateway answers.";

using Run = std::function<int()>;

void AddViews(CLI::App* app, const sentinel::ControlOptions& options, Run* run) {
  static std::string id;
  static bool watch = false;
  static bool all = false;
  CLI::App* incidents =
      app->add_subcommand("incidents", "What is open; with an ID, that one in full");
  incidents->add_option("id", id, "Of one incident");
  incidents->add_flag("-w,--watch", watch, "Go on, a line for every change");
  incidents->add_flag("-a,--all", all, "The last closed ones too");
  incidents->callback([&options, run] {
    *run = [&options] {
      sentinel::Commands commands(options);
      if (watch) return commands.Watch();
      if (!id.empty()) return commands.Show("/api/v1/incidents/" + id, "", sentinel::IncidentView);
      return commands.Show("/api/v1/incidents", all ? "state=all" : "state=open",
                           sentinel::IncidentsView);
    };
  });
  auto view = [&](const char* name, const char* about, const char* path,
                  sentinel::Commands::View shown) {
    app->add_subcommand(name, about)->callback([&options, run, path, shown] {
      *run = [&options, path, shown] { return sentinel::Commands(options).Show(path, "", shown); };
    });
  };
  view("terminals", "Lamps: which answer, who is muted", "/api/v1/terminals",
       sentinel::TerminalsView);
  view("agents", "Agents: which are heard, what they watch", "/api/v1/agents",
       sentinel::AgentsView);
}

void AddSend(CLI::App* app, const sentinel::ControlOptions& options, Run* run) {
  static sentinel::EventOptions event;
  CLI::App* send = app->add_subcommand("send", "One event, as any sender would post it");
  CLI::Option* body =
      send->add_option("--body", event.body, "The whole JSON body; -: from standard input");
  CLI::Option* type = send->add_option("type", event.type, "NCCL_TIMEOUT, XID_FATAL, RECOVERED, …");
  CLI::Option* host = send->add_option("host", event.host, "Host name")->needs(type);
  send->add_option("--rack", event.rack, "Rack label");
  send->add_option("--gpu", event.gpu, "Card number")->check(CLI::NonNegativeNumber);
  send->add_option("--util", event.util, "Utilisation in per cent")->check(CLI::Range(0.0, 100.0));
  send->add_option("--job", event.job, "Job id");
  send->add_option("--state", event.state, "firing or resolved")
      ->check(CLI::IsMember({"firing", "resolved"}));
  for (CLI::Option* option : send->get_options()) {
    if (option != body && option != send->get_help_ptr()) option->excludes(body);
  }
  send->callback([&options, run, body, host] {
    if (body->count() == 0 && host->count() == 0) {
      throw CLI::RequiredError("send: an event type and a host, or --body");
    }
    if (event.body == "-") event.body.assign(std::istreambuf_iterator<char>(std::cin), {});
    *run = [&options] { return sentinel::Commands(options).Send(event.Body()); };
  });
}

void AddConfig(CLI::App* app, Run* run) {
  static std::string path = "/etc/gpu-sentinel/gateway.toml";
  CLI::App* config = app->add_subcommand("config", "Configuration files");
  config->require_subcommand(1);
  CLI::App* check = config->add_subcommand("check", "Whether a gateway would start with it");
  check->add_option("file", path, "Default: " + path);
  check->callback([run] {
    *run = [] {
      const auto loaded = sentinel::LoadGatewayConfig(path);
      if (!loaded.ok()) return sentinel::Complain(loaded.error());
      std::printf("%s: ok\n", path.c_str());
      return sentinel::kExitDone;
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_DFL);  // `sentinelctl … | head` ends us, as it should
  CLI::App app{kAbout, "sentinelctl"};
  app.set_version_flag("--version", SENTINEL_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  sentinel::ControlOptions options;
  Run run;
  app.add_option("--gateway", options.gateway,
                 "host[:port] or unix:/path (default: this machine's)");
  app.add_flag("--json", options.json, "The gateway's JSON, for programs");
  app.add_flag("!--no-color", options.colour,
               "Without colour (as where it is no terminal, or NO_COLOR is set)");
  app.add_flag("--english", options.english, "Evidence in English");
  AddViews(&app, options, &run);
  AddSend(&app, options, &run);
  AddConfig(&app, &run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    app.exit(wrong);
    return sentinel::kExitCommandWrong;
  }
  return run();
}
