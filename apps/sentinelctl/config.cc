// Configuration files, looked at without a gateway.
#include "gateway/config.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "command_line.h"
#include "gateway/gateway.h"

namespace sentinel {

void AddConfig(CLI::App* app, CommandLine* line) {
  auto path = std::make_shared<std::string>("/etc/gpu-sentinel/gateway.toml");
  CLI::App* config = app->add_subcommand("config", "Configuration files");
  config->require_subcommand(1);
  CLI::App* check = config->add_subcommand(
      "check",
      "Whether a gateway would start with it, and with the keys and certificates it names; as its "
      "user or root");
  check->add_option("file", *path, "Default: " + *path);
  check->callback([path, line] {
    line->run = [path, line] {
      Result<GatewayConfig> loaded = LoadGatewayConfig(*path);
      if (!loaded.ok()) return Complain(loaded.error());
      for (const std::string& warning : StateDirWarnings(loaded->state_dir)) {
        std::fprintf(stderr, "sentinelctl: warning: %s\n", warning.c_str());
      }
      GatewayOptions options;
      options.config = std::move(*loaded);
      const Status keys = CheckKeys(options);
      if (!keys.ok()) return Complain(keys.error());
      if (line->options.json) {
        std::printf("%s\n", nlohmann::json{{"file", *path}, {"ok", true}}.dump(2).c_str());
      } else {
        std::printf("%s: ok\n", path->c_str());
      }
      return kExitDone;
    };
  });
}

}  // namespace sentinel
