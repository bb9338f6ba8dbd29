// sentinelctl: an operator's hands on a gateway.
#include <signal.h>

#include "command_line.h"

namespace {

constexpr const char* kAbout =
    "Shows what a gateway knows, and tells it what you know.\n\n"
    "Exit code: 0 done, 1 the gateway refused or does not know it, 2 the command line,\n"
    "3 no gateway answers.";

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_DFL);  // `sentinelctl … | head` ends us, as it should
  sentinel::CommandLine line;
  CLI::App app{kAbout, "sentinelctl"};
  app.set_version_flag("--version", SENTINEL_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--gateway", line.options.gateway,
                 "host[:port] or unix:/path (default: this machine's)");
  app.add_flag("--json", line.options.json, "The gateway's JSON, for programs");
  app.add_flag("!--no-color", line.options.colour,
               "Without colour (as where it is no terminal, or NO_COLOR is set)");
  app.add_flag("--english", line.options.english, "Evidence in English");
  sentinel::AddViews(&app, &line);
  sentinel::AddSend(&app, &line);
  sentinel::AddConfig(&app, &line);
  sentinel::AddKey(&app, &line);
  sentinel::AddCa(&app, &line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    app.exit(wrong);
    return sentinel::kExitCommandWrong;
  }
  return line.run();
}
