// A copy of what a gateway keeps, made beside it.
#include "store/backup.h"

#include <cstdio>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "command_line.h"
#include "gateway/config.h"

namespace sentinel {
namespace {

struct BackupAsked {
  std::string file;
  std::string config = "/etc/gpu-sentinel/gateway.toml";
  std::string state_dir;
};

Result<std::string> StateDirOf(const BackupAsked& asked) {
  if (!asked.state_dir.empty()) return asked.state_dir;
  const GatewayConfig config = TRY(LoadGatewayConfig(asked.config));
  return config.state_dir;
}

Result<BackupReport> BackUp(const BackupAsked& asked) {
  const std::string folder = TRY(StateDirOf(asked));
  return BackUpStore(folder + "/sentinel.db", asked.file);
}

}  // namespace

void AddBackup(CLI::App* app, CommandLine* line) {
  auto asked = std::make_shared<BackupAsked>();
  CLI::App* backup = app->add_subcommand(
      "backup",
      "Copy the gateway's store to a new file, checked; on its host, running or not, as its user");
  backup->add_option("file", asked->file, "The copy")->required();
  CLI::Option* config =
      backup->add_option("--config", asked->config, "Whose store (default: " + asked->config + ')');
  backup->add_option("--state-dir", asked->state_dir, "Or the folder it lies in")->excludes(config);
  backup->callback([asked, line] {
    line->run = [asked, line] {
      const Result<BackupReport> report = BackUp(*asked);
      if (!report.ok()) return Complain(report.error());
      if (line->options.json) {
        const nlohmann::ordered_json json{{"file", asked->file},
                                          {"bytes", report->bytes},
                                          {"events", report->events},
                                          {"incidents", report->incidents}};
        std::printf("%s\n", json.dump(2).c_str());
      } else {
        std::printf("%s: %llu bytes, %llu events, %llu incidents; opened and checked\n",
                    asked->file.c_str(), static_cast<unsigned long long>(report->bytes),
                    static_cast<unsigned long long>(report->events),
                    static_cast<unsigned long long>(report->incidents));
      }
      return kExitDone;
    };
  });
}

}  // namespace sentinel
