// Configuration files, looked at without a gateway.
#include "gateway/config.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "command_line.h"
#include "gateway/config_check.h"

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
      GatewayOptions options;
      options.config = std::move(*loaded);
      std::vector<std::string> warnings;
      const Status start = CheckStart(options, &warnings);
      if (!start.ok()) return Complain(start.error());
      for (const std::string& warning : warnings) {
        std::fprintf(stderr, "sentinelctl: warning: %s\n", warning.c_str());
      }
      if (line->options.json) {
        const nlohmann::json answer{{"file", *path}, {"ok", true}, {"warnings", warnings}};
        std::printf("%s\n",
                    answer.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
      } else {
        std::printf("%s: ok\n", path->c_str());
      }
      return kExitDone;
    };
  });
}

}  // namespace sentinel
