// Configuration files, looked at without a gateway.
#include "gateway/config.h"

#include <cstdio>
#include <memory>
#include <string>

#include "command_line.h"

namespace sentinel {

void AddConfig(CLI::App* app, CommandLine* line) {
  auto path = std::make_shared<std::string>("/etc/gpu-sentinel/gateway.toml");
  CLI::App* config = app->add_subcommand("config", "Configuration files");
  config->require_subcommand(1);
  CLI::App* check = config->add_subcommand("check", "Whether a gateway would start with it");
  check->add_option("file", *path, "Default: " + *path);
  check->callback([path, line] {
    line->run = [path] {
      const auto loaded = LoadGatewayConfig(*path);
      if (!loaded.ok()) return Complain(loaded.error());
      std::printf("%s: ok\n", path->c_str());
      return kExitDone;
    };
  });
}

}  // namespace sentinel
