// What a gateway knows, to be looked at.
#include <memory>
#include <string>

#include "command_line.h"

namespace sentinel {
namespace {

struct IncidentsAsked {
  std::string id;
  bool watch = false;
  bool all = false;
};

void AddIncidents(CLI::App* app, CommandLine* line) {
  auto asked = std::make_shared<IncidentsAsked>();
  CLI::App* incidents =
      app->add_subcommand("incidents", "What is open; with an ID, that one in full");
  incidents->add_option("id", asked->id, "Of one incident");
  incidents->add_flag("-w,--watch", asked->watch, "Go on, a line for every change");
  incidents->add_flag("-a,--all", asked->all, "The last closed ones too");
  incidents->callback([asked, line] {
    line->run = [asked, line] {
      Commands commands(line->options);
      if (asked->watch) return commands.Watch(asked->id);
      if (!asked->id.empty()) {
        return commands.Show("/api/v1/incidents/" + asked->id, "", IncidentView);
      }
      return commands.Show("/api/v1/incidents", asked->all ? "state=all" : "state=open",
                           IncidentsView);
    };
  });
}

}  // namespace

void AddViews(CLI::App* app, CommandLine* line) {
  AddIncidents(app, line);
  auto view = [&](const char* name, const char* about, const char* path, Commands::View shown) {
    app->add_subcommand(name, about)->callback([line, path, shown] {
      line->run = [line, path, shown] { return Commands(line->options).Show(path, "", shown); };
    });
  };
  view("terminals", "Lamps: which answer, who is muted", "/api/v1/terminals", TerminalsView);
  view("agents", "Agents: which are heard, what they watch", "/api/v1/agents", AgentsView);
}

}  // namespace sentinel
